"""Remember that a key was taken from its user, so that no start gives it another."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="unlinked_at",
            field=models.DateTimeField(blank=True, help_text="When it was taken from its user.", null=True),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("user", None), ("unlinked_at", None), _connector="OR"),
                name="unlinked_means_no_user",
            ),
        ),
    ]

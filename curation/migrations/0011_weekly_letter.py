from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("curation", "0010_scrubs")]

    operations = [
        migrations.AddField(
            "subscription",
            "letter",
            models.BooleanField(db_default=False, default=False, help_text="Whether the weekly letter is mailed."),
        ),
        migrations.AddField(
            "subscription",
            "letter_day",
            models.DateField(
                blank=True, help_text="On which day the last letter was due, or none was wanted yet.", null=True
            ),
        ),
    ]

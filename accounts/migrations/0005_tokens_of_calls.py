"""The usage log says what each reply cost the agent that read it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column that may be empty: adding it rewrites no row."""

    dependencies = [("accounts", "0004_sharing")]

    operations = [
        migrations.AddField(
            "call",
            "tokens",
            models.PositiveIntegerField(
                blank=True, null=True, help_text="What the reply cost, where an agent read it."
            ),
        ),
    ]

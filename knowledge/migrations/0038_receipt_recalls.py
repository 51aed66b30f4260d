"""A receipt has what was recalled in its session after the start, too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that is empty at first."""

    dependencies = [("knowledge", "0037_more_behind_the_wall")]

    operations = [
        migrations.AddField(
            "receipt",
            "recalls",
            models.JSONField(
                db_default=[], help_text="When something was recalled, what it cost, and its lines as told."
            ),
        ),
    ]

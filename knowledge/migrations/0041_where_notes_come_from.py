"""A note knows the file that it came from, so that its vault can be brought in again and taken out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that is empty at first."""

    dependencies = [("knowledge", "0040_app_map_servers")]

    operations = [
        migrations.AddField(
            "note",
            "provenance",
            models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                editable=False,
                help_text="Which source made it, from which file, and what that file said. Only imports write it.",
            ),
        ),
    ]

"""A fact knows what the program that it came from said of it, so that it can go back there as it was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that is empty at first."""

    dependencies = [("knowledge", "0045_asked_questions")]

    operations = [
        migrations.AddField(
            "fact",
            "provenance",
            models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                editable=False,
                help_text="Which source made it, and what else that said of it. Only imports write it.",
            ),
        ),
    ]

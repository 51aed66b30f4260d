"""The code alone says which kinds there are: one more needs no change of this table."""

from django.db import migrations, models

from knowledge.models.passages import list_kinds


class Migration(migrations.Migration):
    dependencies = [("curation", "0016_endorsed_lines")]

    operations = [
        migrations.AlterField(
            "goldenquestion",
            "kind",
            models.CharField(choices=list_kinds, help_text="Kind of what it must find.", max_length=20),
        ),
    ]

"""Which kinds there are says the registry (`knowledge/kinds.py`) alone: a kind more needs no change of this table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("curation", "0016_endorsed_lines")]

    operations = [
        migrations.AlterField(
            "goldenquestion", "kind", models.CharField(help_text="Kind of what it must find.", max_length=20)
        ),
    ]

"""The last error of a delivery is called so in code. Its column keeps its name, so that the version before serves on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("curation", "0020_retire_packs")]

    operations = [
        migrations.AlterField("delivery", "trouble", models.TextField(blank=True, db_column="trouble")),
        migrations.RenameField("delivery", "trouble", "error"),
    ]

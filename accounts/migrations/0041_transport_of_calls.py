"""The transport of a call is called so in code. Its column keeps its name, so that the version before serves on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0040_alerts_without_questions")]

    operations = [
        migrations.AlterField("call", "door", models.CharField(db_column="door", max_length=10)),
        migrations.RenameField("call", "door", "transport"),
    ]

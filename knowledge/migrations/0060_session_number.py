"""A session has a number, by which its user and their agents name it: `S7`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0059_source_repository")]

    operations = [
        migrations.AddField(
            "session",
            "number",
            models.PositiveIntegerField(
                db_default=0, default=0, editable=False, help_text="What its user calls it by: the database counts."
            ),
        ),
    ]

"""A table that refers to another, and a column for facts: it holds the table of facts for as long as it is told to."""

from django.conf import settings
from django.db import migrations, models

PAUSE = "trial_pause"
"""While there is a table of this name, the migration stops where it holds the table of facts."""


class Migration(migrations.Migration):
    """Make both."""

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Trial",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("user", models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE knowledge_fact ADD COLUMN trial text NULL", "ALTER TABLE knowledge_fact DROP COLUMN trial"
        ),
        migrations.RunSQL(
            f"SELECT pg_sleep(60) FROM pg_class WHERE relname = '{PAUSE}'", migrations.RunSQL.noop, elidable=True
        ),
    ]

"""What has not been compared in meaning yet waits in its row, so that no worker loses it."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column with a default that PostgreSQL fills, and a small index beside what is going on."""

    atomic = False
    dependencies = [("knowledge", "0064_no_echo")]

    operations = [
        migrations.AddField(
            "passage",
            "compared",
            models.BooleanField(
                db_default=True,
                default=True,
                help_text="Whether it was compared in meaning with older ones, or need not be.",
            ),
        ),
        AddIndexConcurrently(
            "passage",
            models.Index(fields=["id"], name="passage_uncompared", condition=models.Q(("compared", False))),
        ),
    ]

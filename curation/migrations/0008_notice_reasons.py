"""Why someone is told of an entry, and of which reasons they want to hear nothing."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

REASONS = [("proposed", "Proposed"), ("owned", "Owned"), ("commented", "Commented")]


class Migration(migrations.Migration):
    dependencies = [("curation", "0007_pairs_of_proposals")]

    operations = [
        migrations.AddField(
            "notice", "reason", models.CharField(blank=True, choices=REASONS, db_default="", max_length=10)
        ),
        migrations.AddField(
            "subscription",
            "muted",
            ArrayField(
                models.CharField(choices=REASONS, max_length=10), blank=True, db_default=[], default=list, size=None
            ),
        ),
    ]

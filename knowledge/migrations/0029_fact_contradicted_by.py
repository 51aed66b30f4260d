"""A fact says which newer one it cannot hold beside."""

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column that is empty at first, and an index of the few rows where it will not be."""

    atomic = False
    dependencies = [("knowledge", "0028_tidying")]

    operations = [
        migrations.AddField(
            "fact",
            "contradicted_by",
            models.ForeignKey(
                "knowledge.fact",
                django.db.models.deletion.SET_NULL,
                null=True,
                blank=True,
                related_name="contradicts",
                db_index=False,
                help_text="A newer one beside which this cannot hold, until someone says which of the two does.",
            ),
        ),
        AddIndexConcurrently(
            "fact",
            models.Index(
                fields=["contradicted_by"], condition=models.Q(contradicted_by__isnull=False), name="fact_contradicted"
            ),
        ),
    ]

"""Whose agents were given a reference, as digests: how often is shown where enough people looked it up."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0052_doubted")]

    operations = [
        migrations.AddField(
            "referenceuse",
            "people",
            ArrayField(
                models.CharField(max_length=24),
                default=list,
                db_default=[],
                help_text="Digests of those whose agents were given it, as many as it takes to show the number to "
                "everyone.",
            ),
        ),
    ]

"""The first of two curators accepts lines of a pack, and the second one has to accept the same."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("curation", "0015_titled_vectors")]

    operations = [
        migrations.AddField(
            "packversion",
            "endorsed_lines",
            ArrayField(
                models.CharField(max_length=100),
                blank=True,
                db_default=[],
                default=list,
                help_text="The keys of the lines that the first of four eyes accepted.",
                size=None,
            ),
        ),
    ]

"""What a proposal is compared with approved entries by stays with it, so that opening it embeds nothing."""

from django.db import migrations
from pgvector.django import HalfVectorField


class Migration(migrations.Migration):
    dependencies = [("curation", "0014_packs")]

    operations = [
        migrations.AddField(
            "comparison",
            "titled_vector",
            HalfVectorField(
                blank=True, help_text="Of title and content, by which it is compared with what is approved.", null=True
            ),
        ),
    ]

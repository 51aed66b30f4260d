"""Paths, addresses and names in camel case are found by their parts, too: the lexemes are reckoned anew."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

import knowledge.models.passages


class Migration(migrations.Migration):
    """Make the generated column again: its expression cannot be changed."""

    dependencies = [("knowledge", "0008_indexes_of_scopes")]

    operations = [
        migrations.RemoveIndex("passage", "passage_shared_lexemes"),
        migrations.RemoveIndex("passage", "passage_owned_lexemes"),
        migrations.RemoveField("passage", "lexemes"),
        migrations.AddField(
            "passage",
            "lexemes",
            models.GeneratedField(
                db_persist=True,
                expression=knowledge.models.passages.Lexemes("text"),
                output_field=django.contrib.postgres.search.SearchVectorField(),
            ),
        ),
        migrations.AddIndex(
            "passage",
            django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("owner", None)), fields=["lexemes"], name="passage_shared_lexemes"
            ),
        ),
        migrations.AddIndex(
            "passage",
            django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("owner__isnull", False)), fields=["lexemes"], name="passage_owned_lexemes"
            ),
        ),
    ]

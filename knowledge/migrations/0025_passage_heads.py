"""Passages say what they belong to; a sample of a scope and what is to be rewritten are found at once.

Nothing is rewritten here: workers do that afterwards, and search goes on with what is there.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add two columns with a default that PostgreSQL fills, and two small indexes beside what is going on."""

    atomic = False
    dependencies = [("knowledge", "0024_embedder_failed")]

    operations = [
        migrations.AddField(
            "passage",
            "head",
            models.PositiveSmallIntegerField(
                db_default=0, help_text="How many characters of the text say what it belongs to: they are never shown."
            ),
        ),
        migrations.AddField(
            "passage",
            "form",
            models.PositiveSmallIntegerField(
                db_default=0, help_text="How it was written; 0: it is to be rewritten."
            ),
        ),
        migrations.AlterField(
            "passage",
            "text",
            models.TextField(help_text="As it is searched: the head, then the words themselves."),
        ),
        AddIndexConcurrently(
            "passage",
            models.Index(
                fields=["owner", "digest"], name="passage_sample", condition=models.Q(("digest__lt", "2"))
            ),
        ),
        AddIndexConcurrently(
            "passage",
            models.Index(
                fields=["kind", "source_id"],
                name="passage_outdated",
                condition=models.Q(("form", 0), models.Q(("kind", "chunk"), ("ordinal__gt", 0), _connector="OR")),
            ),
        ),
    ]

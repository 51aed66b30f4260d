import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.migrations.operations.base import Operation


def _afresh(model: str, index: models.Index) -> list[Operation]:
    """Make an index, after what a run that broke off may have left of it: an index by that name which is not valid."""
    return [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}", migrations.RunSQL.noop),
        AddIndexConcurrently(model_name=model, index=index),
    ]


class Migration(migrations.Migration):
    """Concurrently, so that nobody waits: hence each step by itself, the new index before the old one goes."""

    atomic = False
    dependencies = [("knowledge", "0007_near_duplicates")]

    operations = [
        *_afresh(
            "passage",
            django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("owner", None)), fields=["lexemes"], name="passage_shared_lexemes"
            ),
        ),
        *_afresh(
            "passage",
            django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("owner__isnull", False)), fields=["lexemes"], name="passage_owned_lexemes"
            ),
        ),
        RemoveIndexConcurrently(model_name="passage", name="passage_lexemes"),
        *_afresh("passage", models.Index(fields=["owner", "kind", "project", "created_at"], name="passage_of_scope")),
        RemoveIndexConcurrently(model_name="passage", name="passage_of_owner"),
        *_afresh("entry", models.Index(fields=["entry_type", "confidence"], name="entry_by_type")),
    ]

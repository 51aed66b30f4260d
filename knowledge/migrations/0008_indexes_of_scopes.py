import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Concurrently, so that nobody waits: hence each step by itself, the new index before the old one goes."""

    atomic = False
    dependencies = [("knowledge", "0007_near_duplicates")]

    operations = [
        AddIndexConcurrently(
            model_name="passage",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("owner", None)), fields=["lexemes"], name="passage_shared_lexemes"
            ),
        ),
        AddIndexConcurrently(
            model_name="passage",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("owner__isnull", False)), fields=["lexemes"], name="passage_owned_lexemes"
            ),
        ),
        RemoveIndexConcurrently(model_name="passage", name="passage_lexemes"),
        AddIndexConcurrently(
            model_name="passage",
            index=models.Index(fields=["owner", "kind", "project", "created_at"], name="passage_of_scope"),
        ),
        RemoveIndexConcurrently(model_name="passage", name="passage_of_owner"),
        AddIndexConcurrently(
            model_name="entry",
            index=models.Index(fields=["entry_type", "confidence"], name="entry_by_type"),
        ),
    ]

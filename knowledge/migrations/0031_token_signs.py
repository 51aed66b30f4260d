"""Texts keep the signs of their tokens beside their vector; passages know when they were said.

Nothing is rewritten here: workers fill what is missing, and search goes on without it.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    """Add a column that may be empty, and an index of what is to be filled, beside what is going on."""

    atomic = False
    dependencies = [("knowledge", "0030_number_memory")]

    operations = [
        migrations.AddField(
            "cachedvector",
            "tokens",
            models.BinaryField(
                null=True,
                help_text="The signs of its tokens' vectors, where the model tells them; empty: none are needed.",
            ),
        ),
        AddIndexConcurrently(
            "cachedvector",
            models.Index(
                fields=["space", "id"], name="vector_without_tokens", condition=models.Q(("tokens", None))
            ),
        ),
        migrations.AlterField(
            "passage",
            "created_at",
            models.DateTimeField(default=timezone.now, help_text="When it was said or stored."),
        ),
    ]

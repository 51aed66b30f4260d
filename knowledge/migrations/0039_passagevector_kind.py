"""What waits for a vector knows its kind, so that kinds take turns. What waited before counts as one kind more."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column with a default of the database, and an index of what waits, beside what is going on."""

    atomic = False
    dependencies = [("knowledge", "0038_receipt_recalls")]

    operations = [
        migrations.AddField(
            "passagevector",
            "kind",
            models.CharField(
                blank=True,
                db_default="",
                help_text="That of the passage: kinds take turns at the workers.",
                max_length=20,
            ),
        ),
        AddIndexConcurrently(
            "passagevector",
            models.Index(
                models.F("space"),
                models.F("kind"),
                models.ExpressionWrapper(models.Q(("vector__isnull", False)), output_field=models.BooleanField()),
                models.OrderBy(models.F("id"), descending=True),
                name="vector_next_of_kind",
                condition=models.Q(("owner", None), ("vector", None)),
            ),
        ),
    ]

"""Facts say from when until when they hold; what was replaced stays in the index, for questions about then."""

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add columns that are empty at first. The rows are not locked while the constraint is checked."""

    atomic = False
    dependencies = [("knowledge", "0033_receipt_texts")]

    operations = [
        migrations.AddField(
            "fact",
            "valid_from",
            models.DateTimeField(
                blank=True, null=True, help_text="Since when it holds; empty: since it was stored."
            ),
        ),
        migrations.AddField(
            "fact",
            "valid_until",
            models.DateTimeField(
                blank=True, null=True, help_text="From then on it no longer holds; empty: it does."
            ),
        ),
        AddConstraintNotValid(
            "fact",
            models.CheckConstraint(
                condition=models.Q(valid_until__gt=models.F("valid_from")), name="fact_ends_after_it_begins"
            ),
        ),
        ValidateConstraint("fact", "fact_ends_after_it_begins"),
        migrations.AddField(
            "passage",
            "past",
            models.BooleanField(
                db_default=False, help_text="Whether it was replaced: only a question about then finds it."
            ),
        ),
    ]

"""The rows that wait for a vector, in the order in which workers take them."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

_HAS_VECTOR = models.ExpressionWrapper(models.Q(vector__isnull=False), output_field=models.BooleanField())
_IS_SHARED = models.ExpressionWrapper(models.Q(owner__isnull=True), output_field=models.BooleanField())


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("knowledge", "0020_session_conversation")]

    operations = [
        AddIndexConcurrently(
            "passagevector",
            models.Index(
                models.F("space"),
                _HAS_VECTOR,
                _IS_SHARED,
                models.F("id").desc(),
                name="vector_next",
                condition=~models.Q(vector__isnull=False, trouble=""),
            ),
        ),
        RemoveIndexConcurrently("passagevector", "vector_waiting"),
    ]

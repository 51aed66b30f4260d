"""A session is found by its number."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("knowledge", "0061_number_sessions")]

    operations = [
        AddIndexConcurrently("session", models.Index(fields=["user", "number"], name="session_of_user_by_number")),
    ]

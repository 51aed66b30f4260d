"""What agents name is numbered for each user: new facts, notes, hypotheses, chunks and conversations."""

from django.db import migrations

from bigmind.core.private_row_numbers import NumberRows


class Migration(migrations.Migration):
    atomic = False  # Each table is locked for a moment, and none while the next one is looked at.

    dependencies = [("accounts", "0021_begin_numbers"), ("knowledge", "0029_fact_contradicted_by")]

    operations = [
        NumberRows("knowledge_fact", "memory"),
        NumberRows("knowledge_note", "memory"),
        NumberRows("knowledge_hypothesis", "memory"),
        NumberRows("knowledge_chunk", "records"),
        NumberRows("knowledge_conversation", "records"),
    ]

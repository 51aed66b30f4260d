"""Events that hooks report, and questions that found nothing, are numbered for each user."""

from django.db import migrations

from bigmind.core.private_row_numbers import NumberRows


class Migration(migrations.Migration):
    atomic = False  # Each table is locked for a moment, and none while the next one is looked at.

    dependencies = [("knowledge", "0031_token_signs")]

    operations = [NumberRows("knowledge_hookevent", "records"), NumberRows("knowledge_unansweredquestion", "records")]

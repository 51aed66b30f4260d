"""Alerts about questions to colleagues go with these questions: they quote them, and lead nowhere."""

from django.db import migrations

from bigmind.database.rls import rls_bypass


@rls_bypass()
def forget_question_alerts(apps, schema_editor):
    """Delete the alerts about a question that was asked or settled."""
    apps.get_model("accounts", "Alert").objects.filter(kind__in=("question_asked", "question_settled")).delete()


class Migration(migrations.Migration):
    dependencies = [("accounts", "0038_workers_and_backups")]

    operations = [migrations.RunPython(forget_question_alerts, migrations.RunPython.noop)]

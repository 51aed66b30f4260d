"""The last row there is becomes the head of the audit log; a log without rows gets its head with the first one."""

from django.db import migrations

from accounts.models.audit import head_seal


def note_last(apps, schema_editor):
    alias = schema_editor.connection.alias
    last = apps.get_model("accounts", "AuditEvent").objects.using(alias).order_by("-number").first()
    if last:
        head = apps.get_model("accounts", "AuditHead")
        head.objects.using(alias).update_or_create(
            pk=1, defaults={"number": last.number, "last": last.seal, "seal": head_seal(last.number, last.seal)}
        )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0018_audit_head")]

    operations = [migrations.RunPython(note_last, migrations.RunPython.noop)]

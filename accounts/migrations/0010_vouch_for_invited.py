"""Vouch for the addresses that came with an invitation: an admin has written those."""

from django.db import migrations


def vouch(apps, schema_editor):
    """Take the addresses that an accepted invitation names."""
    user, invitation = apps.get_model("accounts", "User"), apps.get_model("accounts", "Invitation")
    invited = invitation.objects.exclude(accepted_at=None).exclude(email="")
    user.objects.filter(email__in=invited.values("email")).update(is_email_vouched=True)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0009_sso"),
    ]

    operations = [
        migrations.RunPython(vouch, migrations.RunPython.noop),
    ]

"""Backups are made in a folder: the columns of buckets, encryption and rehearsals go."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0042_forget_copies_and_rehearsals")]

    operations = [
        migrations.AlterField("backuprun", "place", models.CharField(help_text="The folder.", max_length=300)),
        # With a default for going back: rows that are there were all made, and not encrypted.
        migrations.AlterField("backuprun", "kind", models.CharField(default="made", max_length=10)),
        migrations.RemoveField("backuprun", "kind"),
        migrations.RemoveField("backuprun", "is_encrypted"),
        migrations.RemoveField("backuprun", "report"),
        migrations.RemoveField("worker", "bucket"),
        migrations.RemoveField("worker", "recipients"),
    ]

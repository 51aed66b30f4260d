"""Copies to object storage and rehearsals of restores are retired: their records go, those of backups stay."""

from django.db import migrations

# A new database gets its tables in their last form, where the column is gone, and runs this afterwards.
FORGET = "DELETE FROM accounts_backuprun run WHERE to_jsonb(run) ->> 'kind' <> 'made'"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0041_transport_of_calls")]

    operations = [migrations.RunSQL(FORGET, migrations.RunSQL.noop)]

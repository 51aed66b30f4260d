"""Corrections, tests and commits of sessions were counted for the comparison that is retired: their table goes."""

from django.db import migrations

ISOLATE = """
ALTER TABLE knowledge_sessionoutcome ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen_by_its_owner ON knowledge_sessionoutcome USING (coalesce(user_id = (SELECT bigmind_sees()), true));
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0067_retire_holdout")]

    operations = [
        # Taken back after the table is made again.
        migrations.RunSQL(migrations.RunSQL.noop, ISOLATE),
        migrations.DeleteModel("SessionOutcome"),
    ]

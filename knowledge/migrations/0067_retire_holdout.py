"""Withholding by lot is retired: what was drawn, who agreed to it, and what it said about entries go."""

from django.db import migrations

ISOLATE = """
ALTER TABLE knowledge_holdoutdraw ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen_by_its_owner ON knowledge_holdoutdraw USING (coalesce(user_id = (SELECT bigmind_sees()), true));
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0066_retire_expert_questions")]

    operations = [
        # Taken back after the table is made again.
        migrations.RunSQL(migrations.RunSQL.noop, ISOLATE),
        migrations.DeleteModel("HoldoutDraw"),
        migrations.RemoveField("capturepolicy", "holdout"),
        migrations.RemoveField("proof", "harmful_since"),
        migrations.RemoveField("proof", "doubted"),
    ]

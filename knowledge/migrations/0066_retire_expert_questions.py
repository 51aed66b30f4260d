"""Questions to colleagues are retired, and their table goes. Answers stay among the notes of those who asked."""

from django.db import migrations

ISOLATE = """
ALTER TABLE knowledge_expertquestion ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen_by_both ON knowledge_expertquestion
USING (coalesce((SELECT bigmind_sees()) IN (user_id, expert_id), true));
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0065_compared")]

    operations = [
        # Taken back after the table is made again.
        migrations.RunSQL(migrations.RunSQL.noop, ISOLATE),
        migrations.DeleteModel("ExpertQuestion"),
    ]

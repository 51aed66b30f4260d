"""Private rows are seen by their owner alone, whatever a query forgets: see bigmind/core/wall.py and decision 0014.

FORCE, because BigMind's own role owns the tables, and owners would else be let through.
"""

from django.db import migrations

SEES = "current_setting('bigmind.sees', true)"
OWN = f"(SELECT nullif(nullif({SEES}, 'everybody'), 'nobody'))"
OWNED = (
    "accounts_keptreply",
    "knowledge_session",
    "knowledge_chunk",
    "knowledge_fact",
    "knowledge_hypothesis",
    "knowledge_note",
    "knowledge_serving",
)
OF_A_SESSION = ("knowledge_summary", "knowledge_receipt", "knowledge_shownheadline")
RULES = {
    **{table: f"user_id = {OWN}::uuid" for table in OWNED},
    **{
        table: f"EXISTS (SELECT FROM knowledge_session AS session WHERE session.id = {table}.session_id)"
        for table in OF_A_SESSION
    },
}
RAISE = "\n".join(
    f"""
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen_by_its_owner ON {table} USING ((SELECT {SEES}) = 'everybody' OR {rule});
    """
    for table, rule in RULES.items()
)
LOWER = "\n".join(
    f"""
    DROP POLICY seen_by_its_owner ON {table};
    ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
    """
    for table in RULES
)


class Migration(migrations.Migration):
    """Raise the wall."""

    dependencies = [("knowledge", "0013_references"), ("accounts", "0006_invitations_and_sign_ins")]

    operations = [migrations.RunSQL(RAISE, LOWER)]

"""Questions that found nothing, what was said of things, and profiles are seen by whose they are, too."""

from django.db import migrations

TABLES = ("accounts_profile", "knowledge_feedback", "knowledge_unansweredquestion")
ISOLATE_OWNERS = "\n".join(
    f"""
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen_by_its_owner ON {table} USING (coalesce(user_id = (SELECT bigmind_sees()), true));
    """
    for table in TABLES
)
SHARE_TABLES = "\n".join(
    f"""
    DROP POLICY seen_by_its_owner ON {table};
    ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
    """
    for table in TABLES
)


class Migration(migrations.Migration):

    dependencies = [('knowledge', '0036_sees_by_token')]

    operations = [migrations.RunSQL(ISOLATE_OWNERS, SHARE_TABLES)]

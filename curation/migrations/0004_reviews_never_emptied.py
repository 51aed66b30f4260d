"""The history of company knowledge refuses TRUNCATE, too."""

from django.db import migrations

GUARD = """
CREATE TRIGGER curation_review_never_emptied BEFORE TRUNCATE ON curation_review
    FOR EACH STATEMENT EXECUTE FUNCTION bigmind_never_emptied();
"""
UNGUARD = "DROP TRIGGER curation_review_never_emptied ON curation_review;"


class Migration(migrations.Migration):
    dependencies = [("curation", "0001_squashed"), ("accounts", "0018_audit_head")]

    operations = [migrations.RunSQL(GUARD, UNGUARD)]

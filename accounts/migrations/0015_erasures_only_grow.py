"""Reports of erasures only grow: the database itself refuses to change or delete one.

One change passes: the links to who asked and to whose memory it was may be taken away, so that somebody can be erased.
"""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION accounts_erasures_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - 'asked_by_id' - 'whose_id' = to_jsonb(OLD) - 'asked_by_id' - 'whose_id'
        AND (NEW.asked_by_id IS NULL OR NEW.asked_by_id = OLD.asked_by_id)
        AND (NEW.whose_id IS NULL OR NEW.whose_id = OLD.whose_id)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Reports of erasures are append-only.' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_erasures_only_grow BEFORE UPDATE OR DELETE ON accounts_erasurereport
    FOR EACH ROW EXECUTE FUNCTION accounts_erasures_only_grow();
"""
BACKWARDS = """
DROP TRIGGER accounts_erasures_only_grow ON accounts_erasurereport;
DROP FUNCTION accounts_erasures_only_grow();
"""


class Migration(migrations.Migration):
    """Guard the reports."""

    dependencies = [("accounts", "0014_erasures")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]

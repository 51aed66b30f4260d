"""The audit log only grows: the database itself refuses to change or delete a row of it.

One change passes: names of people, and the links to them, may be taken away, so that somebody can be erased.
"""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION accounts_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - 'by_id' - 'by_name' - 'about_id' - 'about_name'
            = to_jsonb(OLD) - 'by_id' - 'by_name' - 'about_id' - 'about_name'
        AND (NEW.by_id IS NULL OR NEW.by_id = OLD.by_id) AND NEW.by_name IN (OLD.by_name, '')
        AND (NEW.about_id IS NULL OR NEW.about_id = OLD.about_id) AND NEW.about_name IN (OLD.about_name, '')
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The audit log is append-only.' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_audit_only_grows BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_only_grows();
"""
BACKWARDS = """
DROP TRIGGER accounts_audit_only_grows ON accounts_auditevent;
DROP FUNCTION accounts_audit_only_grows();
"""


class Migration(migrations.Migration):
    """Guard the log."""

    dependencies = [("accounts", "0016_audit")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]

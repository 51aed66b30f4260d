"""The history of decisions only grows: the database itself refuses to change or delete a row of it.

One change passes: the name of a person, and the link to them, may be taken away, so that somebody can be erased.
"""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION curation_review_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - 'by_id' - 'by_name' - 'agent_name' = to_jsonb(OLD) - 'by_id' - 'by_name' - 'agent_name'
        AND (NEW.by_id IS NULL OR NEW.by_id = OLD.by_id)
        AND NEW.by_name IN (OLD.by_name, '') AND NEW.agent_name IN (OLD.agent_name, '')
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The history of company knowledge is append-only.' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER curation_review_only_grows BEFORE UPDATE OR DELETE ON curation_review
    FOR EACH ROW EXECUTE FUNCTION curation_review_only_grows();
"""
BACKWARDS = """
DROP TRIGGER curation_review_only_grows ON curation_review;
DROP FUNCTION curation_review_only_grows();
"""


class Migration(migrations.Migration):
    """Guard the history."""

    dependencies = [("curation", "0001_reviews")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]

"""The database tells every process that serves when a key or its user changes: they remember keys for a moment.

What is noted with each use of a key changes nothing that counts, and is not told.
"""

from django.db import migrations

USED = {"accounts_apikey": "last_used_at,last_used_by", "accounts_user": "last_seen,updated_at"}
TELL = """
CREATE FUNCTION bigmind_tell_of_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('bigmind_keys', '');
    RETURN NULL;
END
$$;
"""
TRIGGERS = """
CREATE TRIGGER tell_of_change AFTER UPDATE ON {table} FOR EACH ROW
WHEN (to_jsonb(OLD) - '{{{used}}}'::text[] IS DISTINCT FROM to_jsonb(NEW) - '{{{used}}}'::text[])
EXECUTE FUNCTION bigmind_tell_of_key_change();
CREATE TRIGGER tell_of_end AFTER DELETE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION bigmind_tell_of_key_change();
"""
REMOVE = """
DROP TRIGGER tell_of_change ON {table};
DROP TRIGGER tell_of_end ON {table};
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0030_user_language")]
    operations = [
        migrations.RunSQL(TELL, "DROP FUNCTION bigmind_tell_of_key_change()"),
        *(
            migrations.RunSQL(TRIGGERS.format(table=table, used=used), REMOVE.format(table=table))
            for table, used in USED.items()
        ),
    ]

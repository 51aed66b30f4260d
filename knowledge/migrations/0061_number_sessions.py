"""The sessions of each user are numbered in the order in which they were started, and so is each one from now on."""

from django.db import migrations

NUMBER = """
UPDATE knowledge_session SET number = counted.next FROM (
    SELECT id, number, max(number) OVER (PARTITION BY user_id)
        + row_number() OVER (PARTITION BY user_id, number = 0 ORDER BY started_at, id) AS next
    FROM knowledge_session
) AS counted WHERE counted.id = knowledge_session.id AND counted.number = 0;
"""
# Most were numbered while others wrote, so that the lock is held for the last few only.
FROM_NOW_ON = f"""
LOCK TABLE knowledge_session IN SHARE ROW EXCLUSIVE MODE;
{NUMBER}
SELECT setval(format('bigmind_sessions_%s', id_block)::regclass, largest)
FROM (SELECT user_id, max(number) AS largest FROM knowledge_session GROUP BY user_id) AS counted
JOIN accounts_user ON accounts_user.id = counted.user_id;
CREATE FUNCTION bigmind_number_session() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE block bigint;
BEGIN
    SELECT id_block INTO block FROM accounts_user WHERE id = NEW.user_id;
    IF FOUND THEN
        NEW.number := nextval(format('bigmind_sessions_%s', block));
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER knowledge_session_numbered BEFORE INSERT ON knowledge_session
    FOR EACH ROW EXECUTE FUNCTION bigmind_number_session();
"""
NO_MORE = """
DROP TRIGGER knowledge_session_numbered ON knowledge_session;
DROP FUNCTION bigmind_number_session();
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0036_begin_session_numbers"), ("knowledge", "0060_session_number")]

    operations = [
        migrations.RunSQL(NUMBER, migrations.RunSQL.noop),
        migrations.RunSQL(FROM_NOW_ON, NO_MORE),
    ]

"""Every user has a block of ids, in which the database numbers what they alone see."""

from django.db import migrations, models

from bigmind.database.new_database import BEFORE_TABLES

BLOCKS = "CREATE SEQUENCE accounts_user_id_block AS integer"
NO_BLOCKS = "DROP SEQUENCE accounts_user_id_block"

# Who may only write rows cannot make sequences: the functions act as the owner of the tables.
NUMBER = """
CREATE FUNCTION bigmind_begin_numbers(block bigint) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE series text;
BEGIN
    FOREACH series IN ARRAY ARRAY['memory', 'records'] LOOP
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS bigmind_%s_%s MAXVALUE 4294967295', series, block);
    END LOOP;
END
$$;
CREATE FUNCTION bigmind_begin_numbers_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM bigmind_begin_numbers(NEW.id_block);
    RETURN NEW;
END
$$;
CREATE FUNCTION bigmind_end_numbers_of_user() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE format('DROP SEQUENCE IF EXISTS bigmind_memory_%1$s, bigmind_records_%1$s', OLD.id_block);
    RETURN OLD;
END
$$;
CREATE FUNCTION bigmind_number_row() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE block bigint;
BEGIN
    IF NEW.id < 4294967296 THEN
        SELECT id_block INTO block FROM accounts_user WHERE id = NEW.user_id;
        IF FOUND THEN
            NEW.id := (block << 32) + nextval(format('bigmind_%s_%s', TG_ARGV[0], block));
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER accounts_user_begins_numbers AFTER INSERT ON accounts_user
    FOR EACH ROW EXECUTE FUNCTION bigmind_begin_numbers_of_user();
CREATE TRIGGER accounts_user_ends_numbers AFTER DELETE ON accounts_user
    FOR EACH ROW EXECUTE FUNCTION bigmind_end_numbers_of_user();
"""
NUMBER_NOT = """
DROP TRIGGER accounts_user_begins_numbers ON accounts_user;
DROP TRIGGER accounts_user_ends_numbers ON accounts_user;
DROP FUNCTION bigmind_number_row();
DROP FUNCTION bigmind_end_numbers_of_user();
DROP FUNCTION bigmind_begin_numbers_of_user();
DROP FUNCTION bigmind_begin_numbers(bigint);
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_note_last_audit_event")]

    operations = [
        migrations.RunSQL(BLOCKS, NO_BLOCKS, hints=BEFORE_TABLES),
        migrations.AddField(
            "user",
            "id_block",
            models.BigIntegerField(
                db_default=models.Func(models.Value("accounts_user_id_block"), function="nextval"),
                editable=False,
                help_text="The upper half of the ids of what this user alone sees.",
            ),
        ),
        migrations.RunSQL(NUMBER, NUMBER_NOT),
    ]

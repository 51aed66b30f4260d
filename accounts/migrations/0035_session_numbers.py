"""The sessions of every user are numbered in a series of their own, so that their handles stay short: `S7`."""

from django.db import migrations


def _functions(*series: str) -> str:
    listed = ", ".join(f"'{one}'" for one in series)
    dropped = ", ".join(f"bigmind_{one}_%1$s" for one in series)
    return f"""
CREATE OR REPLACE FUNCTION bigmind_begin_numbers(block bigint) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE series text;
BEGIN
    FOREACH series IN ARRAY ARRAY[{listed}] LOOP
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS bigmind_%s_%s MAXVALUE 4294967295', series, block);
    END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION bigmind_end_numbers_of_user() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE format('DROP SEQUENCE IF EXISTS {dropped}', OLD.id_block);
    RETURN OLD;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0034_sharing_asked_alerts")]

    operations = [
        migrations.RunSQL(_functions("memory", "records", "sessions"), _functions("memory", "records")),
    ]

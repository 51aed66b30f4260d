"""The database takes no bare word for whose rows a transaction may see: the setting carries a token.

The keys of the tokens are in a table that only the owner reads: row-level security without a policy, and not forced.
An instance that is upgraded takes the bare word for one more hour, from processes of the version before that still
serve: that is the row with an empty key.
"""

from django.db import migrations

from bigmind.database.rls import key_statements, use_tokens

OWNED = (
    "accounts_keptreply",
    "knowledge_capturepolicy",
    "knowledge_chunk",
    "knowledge_conversation",
    "knowledge_fact",
    "knowledge_hookevent",
    "knowledge_hookhealth",
    "knowledge_hypothesis",
    "knowledge_note",
    "knowledge_receipttext",
    "knowledge_serving",
    "knowledge_session",
    "knowledge_tidyinganswer",
    "knowledge_tooluse",
)
OF_A_SESSION = ("knowledge_summary", "knowledge_receipt", "knowledge_shownheadline")
OLD_SEES = "current_setting('bigmind.sees', true)"
OLD_OWN = f"(SELECT nullif(nullif({OLD_SEES}, 'everybody'), 'nobody'))"
SESSION = "EXISTS (SELECT FROM knowledge_session AS session WHERE session.id = {table}.session_id)"
# Both functions are of the owner of the tables, whose rights they take: the application may not read the keys.
# `(SELECT …)` around them in policies has them called once for a statement, not once for a row.
FUNCTIONS = """
CREATE TABLE bigmind_row_key (
    inner_key bytea PRIMARY KEY,
    outer_key bytea NOT NULL,
    until timestamptz NOT NULL DEFAULT '-infinity'
);
ALTER TABLE bigmind_row_key ENABLE ROW LEVEL SECURITY;
INSERT INTO bigmind_row_key (inner_key, outer_key, until)
SELECT '', '', now() + interval '1 hour' WHERE EXISTS (SELECT FROM accounts_user);

CREATE FUNCTION bigmind_row_token(whom text) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT whom || ':' || encode(sha256(outer_key || sha256(inner_key || convert_to(whom || ':', 'UTF8'))), 'hex')
    FROM public.bigmind_row_key WHERE inner_key <> '' LIMIT 1
$$;
REVOKE EXECUTE ON FUNCTION bigmind_row_token(text) FROM PUBLIC;

CREATE FUNCTION bigmind_sees() RETURNS uuid LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    told text := current_setting('bigmind.sees', true);
    whom text := split_part(told, ':', 1);
    mark text := substr(told, length(whom) + 2);
BEGIN
    IF told IS NULL OR told IN ('', 'nobody') THEN
        RETURN '00000000-0000-0000-0000-000000000000';
    END IF;
    IF NOT EXISTS (
        SELECT FROM public.bigmind_row_key AS key WHERE CASE WHEN inner_key = '' THEN mark = '' AND until > now() ELSE
            mark = encode(sha256(outer_key || sha256(
                inner_key || convert_to(whom || ':' || pg_backend_pid(), 'UTF8'))), 'hex')
            OR mark = encode(sha256(outer_key || sha256(inner_key || convert_to(whom || ':', 'UTF8'))), 'hex') END
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'bigmind.sees carries no token of this BigMind.',
            HINT = 'Start a part that knows the owner of the tables, with the secret key of the others.';
    END IF;
    RETURN CASE WHEN whom <> 'everybody' THEN whom::uuid END;
END
$$;
"""
NO_FUNCTIONS = """
DROP FUNCTION bigmind_sees();
DROP FUNCTION bigmind_row_token(text);
DROP TABLE bigmind_row_key;
"""
# Who sees everybody's rows sees NULL. A comparison is enough then, and the owners of these rows are never NULL.
BY_TOKEN = "\n".join(
    f"ALTER POLICY seen_by_its_owner ON {table} USING (coalesce(user_id = (SELECT bigmind_sees()), true));"
    for table in OWNED
) + "\n".join(
    f"ALTER POLICY seen_by_its_owner ON {table} USING ({SESSION.format(table=table)});"
    for table in OF_A_SESSION
)
BY_WORD = "\n".join(
    f"ALTER POLICY seen_by_its_owner ON {table} USING ((SELECT {OLD_SEES}) = 'everybody' OR {rule});"
    for table, rule in {
        **{table: f"user_id = {OLD_OWN}::uuid" for table in OWNED},
        **{table: SESSION.format(table=table) for table in OF_A_SESSION},
    }.items()
)
FORGETS = """
CREATE OR REPLACE FUNCTION knowledge_forget_receipt_texts() RETURNS trigger LANGUAGE plpgsql {rights} AS $$
DECLARE
    seen text := coalesce(current_setting('bigmind.sees', true), 'nobody');
BEGIN
    PERFORM set_config('bigmind.sees', {everybody}, {local});
    DELETE FROM {schema}knowledge_receipttext
    WHERE kind = ANY(TG_ARGV) AND source_id IN (SELECT gone.id::text FROM gone);
    DELETE FROM {schema}knowledge_receipttext
    WHERE kind = ANY(TG_ARGV) AND quoted_id <> '' AND quoted_id IN (SELECT gone.id::text FROM gone);
    PERFORM set_config('bigmind.sees', seen, {local});
    RETURN NULL;
END $$;
"""
FORGET_BY_TOKEN = FORGETS.format(
    rights="SECURITY DEFINER SET search_path = pg_catalog, pg_temp",
    everybody="public.bigmind_row_token('everybody')",
    local="true",
    schema="public.",
) + "REVOKE EXECUTE ON FUNCTION knowledge_forget_receipt_texts() FROM PUBLIC;"
FORGET_BY_WORD = (
    FORGETS.format(rights="", everybody="'everybody'", local="false", schema="")
    + "GRANT EXECUTE ON FUNCTION knowledge_forget_receipt_texts() TO PUBLIC;"
)


def take_our_tokens(apps, schema_editor):
    use_tokens()
    for statement in key_statements():
        schema_editor.execute(statement)


def take_the_word(apps, schema_editor):
    use_tokens(False)


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0035_passage_languages'),
        ('accounts', '0023_private_rows_are_opened'),
    ]

    operations = [
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        migrations.RunPython(take_our_tokens, take_the_word),
        migrations.RunSQL(BY_TOKEN, BY_WORD),
        migrations.RunSQL(FORGET_BY_TOKEN, FORGET_BY_WORD),
    ]

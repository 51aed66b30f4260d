"""Passages are stemmed in their own language as well, and Chinese, Japanese and Korean are indexed by pairs.

Nothing is rewritten here: `lexemes` keeps what it has and is written by a trigger from now on, which a generated column
cannot do with the language of a row. A worker reads what was stored before (`knowledge_passagereading` says how far).
"""

import django.contrib.postgres.search
from django.db import migrations, models

from knowledge.models.passages import in_parts

UNSPACED = r"[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
ENGLISH = f"to_tsvector('english', {{0}}) || to_tsvector('simple', {{0}}) || to_tsvector('simple', {in_parts('{0}')})"
# The language as the name of a dictionary comes from our code alone (`knowledge/search/language_identification.py`).
WRITE_LEXEMES = f"""
ALTER TABLE knowledge_passage ALTER COLUMN lexemes DROP EXPRESSION IF EXISTS, ALTER COLUMN lexemes DROP NOT NULL;
CREATE FUNCTION knowledge_write_lexemes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.lexemes := {ENGLISH.format("NEW.text")};
    IF NEW.language <> '' THEN
        NEW.lexemes := NEW.lexemes || to_tsvector(('pg_catalog.' || quote_ident(NEW.language))::regconfig, NEW.text);
    END IF;
    IF NEW.text ~ '{UNSPACED}' THEN
        NEW.lexemes := NEW.lexemes || array_to_tsvector(ARRAY(
            SELECT DISTINCT substr(run[1], place, 2)
            FROM regexp_matches(NEW.text, '{UNSPACED}+', 'g') AS run,
                generate_series(1, greatest(1, length(run[1]) - 1)) AS place
        ));
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER write_lexemes BEFORE INSERT OR UPDATE OF text, language, lexemes ON knowledge_passage
    FOR EACH ROW EXECUTE FUNCTION knowledge_write_lexemes();
"""
GENERATE_LEXEMES = f"""
DROP TRIGGER write_lexemes ON knowledge_passage;
DROP FUNCTION knowledge_write_lexemes();
ALTER TABLE knowledge_passage DROP COLUMN lexemes;
ALTER TABLE knowledge_passage
    ADD COLUMN lexemes tsvector NOT NULL GENERATED ALWAYS AS ({ENGLISH.format("text")}) STORED;
CREATE INDEX passage_shared_lexemes ON knowledge_passage USING gin (lexemes) WHERE owner_id IS NULL;
CREATE INDEX passage_owned_lexemes ON knowledge_passage USING gin (lexemes) WHERE owner_id IS NOT NULL;
"""
# One row while passages of before are left to read, none afterwards. Not a model: nobody else asks for it.
READ_LATER = """
CREATE TABLE knowledge_passagereading (read_to bigint NOT NULL, last bigint NOT NULL);
INSERT INTO knowledge_passagereading SELECT 0, max(id) FROM knowledge_passage HAVING max(id) IS NOT NULL;
"""
READ_NOTHING = "DROP TABLE knowledge_passagereading;"


class Migration(migrations.Migration):

    dependencies = [("knowledge", "0034_fact_validity")]

    operations = [
        migrations.AddField(
            "passage",
            "language",
            models.CharField(
                blank=True,
                db_default="",
                help_text=(
                    "The dictionary that its words are stemmed with besides the English one; empty: with no other."
                ),
                max_length=20,
            ),
        ),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(WRITE_LEXEMES, GENERATE_LEXEMES)],
            [
                migrations.AlterField(
                    "passage",
                    "lexemes",
                    django.contrib.postgres.search.SearchVectorField(
                        editable=False, help_text="Its words; a trigger writes them.", null=True
                    ),
                )
            ],
        ),
        migrations.RunSQL(READ_LATER, READ_NOTHING),
    ]

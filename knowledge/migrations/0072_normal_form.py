"""Words are indexed in one form: full and half width alike, and also without the accents of Latin and Greek letters."""

from importlib import import_module

from django.db import migrations

_BEFORE = import_module("knowledge.migrations.0035_passage_languages")
_ENGLISH, _UNSPACED = _BEFORE.ENGLISH, _BEFORE.UNSPACED
# As `bigmind/database/normal_form.py` had it then: what a migration does must not change with the code.
_PLAIN = (
    "replace(normalize(regexp_replace(normalize(NEW.text, NFKD), '([A-Za-z\\u0391-\\u03c9])[\\u0300-\\u036f]+',"
    " '\\1', 'g'), NFKC), 'ß', 'ss')"
)
WRITE_LEXEMES = f"""
CREATE OR REPLACE FUNCTION knowledge_write_lexemes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    words text := normalize(NEW.text, NFKC);
    plain text := {_PLAIN};
BEGIN
    NEW.lexemes := {_ENGLISH.format("words")};
    IF plain <> words THEN
        NEW.lexemes := NEW.lexemes || {_ENGLISH.format("plain")};
    END IF;
    IF NEW.language <> '' THEN
        NEW.lexemes := NEW.lexemes || to_tsvector(('pg_catalog.' || quote_ident(NEW.language))::regconfig, words);
    END IF;
    IF words ~ '{_UNSPACED}' THEN
        NEW.lexemes := NEW.lexemes || array_to_tsvector(ARRAY(
            SELECT DISTINCT substr(run[1], place, 2)
            FROM regexp_matches(words, '{_UNSPACED}+', 'g') AS run,
                generate_series(1, greatest(1, length(run[1]) - 1)) AS place
        ));
    END IF;
    RETURN NEW;
END $$;
"""
_BEGIN = _BEFORE.WRITE_LEXEMES.index("CREATE FUNCTION")
_END = _BEFORE.WRITE_LEXEMES.index("CREATE TRIGGER")
WRITE_AS_BEFORE = _BEFORE.WRITE_LEXEMES[_BEGIN:_END].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


class Migration(migrations.Migration):

    dependencies = [("knowledge", "0071_compared_facts")]

    operations = [migrations.RunSQL(WRITE_LEXEMES, WRITE_AS_BEFORE)]

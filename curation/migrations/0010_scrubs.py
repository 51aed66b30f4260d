"""Texts that were removed everywhere; and the one way by which they may be removed from what only grows."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

ISOLATE = """
    ALTER TABLE curation_scrub ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen_by_its_owner ON curation_scrub
    USING (coalesce(whose_id = (SELECT bigmind_sees()), true));
"""
SHARE = """
    DROP POLICY seen_by_its_owner ON curation_scrub;
    ALTER TABLE curation_scrub NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
"""
# The token is made like those of bigmind_sees: only who knows the secret key can make it, for one connection alone.
FUNCTIONS = """
CREATE FUNCTION bigmind_may_scrub() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM public.bigmind_row_key WHERE inner_key <> '' AND current_setting('bigmind.scrubs', true) =
            'scrub:' || encode(sha256(outer_key || sha256(
                inner_key || convert_to('scrub:' || pg_backend_pid(), 'UTF8'))), 'hex')
    )
$$;
CREATE FUNCTION bigmind_scrub_row(relation regclass, row_id bigint, content jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text := (SELECT string_agg(quote_ident(name), ', ') FROM jsonb_object_keys(content) AS name);
BEGIN
    IF NOT public.bigmind_may_scrub() OR relation NOT IN (
        'public.curation_review'::regclass, 'public.accounts_auditevent'::regclass,
        'public.accounts_erasurereport'::regclass
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'Only the removal of a text changes what is append-only.';
    END IF;
    EXECUTE format(
        'UPDATE %s AS kept SET (%s) = (SELECT %s FROM jsonb_populate_record(kept, $1)) WHERE id = $2',
        relation, names, names
    ) USING content, row_id;
END
$$;
"""
NO_FUNCTIONS = """
DROP FUNCTION bigmind_scrub_row(regclass, bigint, jsonb);
DROP FUNCTION bigmind_may_scrub();
"""
GUARD = """
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'{by_scrub}
        AND to_jsonb(NEW) {without} = to_jsonb(OLD) {without}
        AND {names}
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '{refusal}' USING ERRCODE = 'restrict_violation';
END
$$;
"""
BY_SCRUB = """ AND public.bigmind_may_scrub() THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE'"""
GUARDS = (
    {
        "function": "curation_review_only_grows",
        "without": "- 'by_id' - 'by_name' - 'agent_name'",
        "names": "(NEW.by_id IS NULL OR NEW.by_id = OLD.by_id)"
        " AND NEW.by_name IN (OLD.by_name, '') AND NEW.agent_name IN (OLD.agent_name, '')",
        "refusal": "The history of company knowledge is append-only.",
    },
    {
        "function": "accounts_audit_only_grows",
        "without": "- 'by_id' - 'by_name' - 'about_id' - 'about_name'",
        "names": "(NEW.by_id IS NULL OR NEW.by_id = OLD.by_id) AND NEW.by_name IN (OLD.by_name, '')"
        " AND (NEW.about_id IS NULL OR NEW.about_id = OLD.about_id) AND NEW.about_name IN (OLD.about_name, '')",
        "refusal": "The audit log is append-only.",
    },
    {
        "function": "accounts_erasures_only_grow",
        "without": "- 'asked_by_id' - 'whose_id'",
        "names": "(NEW.asked_by_id IS NULL OR NEW.asked_by_id = OLD.asked_by_id)"
        " AND (NEW.whose_id IS NULL OR NEW.whose_id = OLD.whose_id)",
        "refusal": "Reports of erasures are append-only.",
    },
)
WITH_SCRUB = "".join(GUARD.format(by_scrub=BY_SCRUB, **guard) for guard in GUARDS)
WITHOUT = "".join(GUARD.format(by_scrub="", **guard) for guard in GUARDS)


class Migration(migrations.Migration):
    dependencies = [
        ("curation", "0009_webhooks"),
        ("accounts", "0027_text_removed_alerts"),
        ("knowledge", "0036_sees_by_token"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Scrub",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.UUIDField(
                        default=uuid.uuid4, help_text="The same in every note and every backup.", unique=True
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("why", models.CharField(max_length=100)),
                (
                    "salt",
                    models.CharField(help_text="Goes into the key of the hashes, with the secret key.", max_length=64),
                ),
                (
                    "check_value",
                    models.CharField(help_text="Tells whether a secret key is the one of the hashes.", max_length=64),
                ),
                (
                    "needles",
                    models.JSONField(default=list, help_text="Lengths and hashes of the forms that the text may have."),
                ),
                ("counts", models.JSONField(default=dict, help_text="How many places of which kind.")),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "whose",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty: of the whole instance.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scrubs",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["-at"], name="scrub_by_date")]},
        ),
        migrations.RunSQL(ISOLATE, SHARE),
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        migrations.RunSQL(WITH_SCRUB, WITHOUT),
    ]

"""The lines of start contexts and recalls as they were told: seen by their owner alone, and gone with what they are of."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

SEES = "current_setting('bigmind.sees', true)"
OWN = f"(SELECT nullif(nullif({SEES}, 'everybody'), 'nobody'))"
ISOLATE_OWNERS = f"""
ALTER TABLE knowledge_receipttext ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen_by_its_owner ON knowledge_receipttext
    USING ((SELECT {SEES}) = 'everybody' OR user_id = {OWN}::uuid);
"""
SHARE_TABLE = """
DROP POLICY seen_by_its_owner ON knowledge_receipttext;
ALTER TABLE knowledge_receipttext NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
"""
KINDS = {
    "knowledge_fact": ("fact",),
    "knowledge_session": ("session", "summary"),
    "knowledge_chunk": ("chunk",),
    "knowledge_note": ("note",),
    "knowledge_hypothesis": ("hypothesis",),
    "knowledge_entry": ("entry",),
    "knowledge_companyentry": ("company", "decision"),
    "knowledge_reference": ("reference",),
    "knowledge_appentity": ("app_entity",),
    "knowledge_apptable": ("app_table",),
    "knowledge_appworkflow": ("app_workflow",),
    "accounts_user": ("person",),
}
# Whoever erases it, and in whatever way: also what goes with something else. The texts may be other people's.
FORGET_TEXTS = """
CREATE FUNCTION knowledge_forget_receipt_texts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    seen text := coalesce(current_setting('bigmind.sees', true), 'nobody');
BEGIN
    PERFORM set_config('bigmind.sees', 'everybody', false);
    DELETE FROM knowledge_receipttext WHERE kind = ANY(TG_ARGV) AND source_id IN (SELECT gone.id::text FROM gone);
    DELETE FROM knowledge_receipttext
    WHERE kind = ANY(TG_ARGV) AND quoted_id <> '' AND quoted_id IN (SELECT gone.id::text FROM gone);
    PERFORM set_config('bigmind.sees', seen, false);
    RETURN NULL;
END $$;
""" + "\n".join(
    f"""
    CREATE TRIGGER forget_receipt_texts AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION knowledge_forget_receipt_texts({", ".join(f"'{kind}'" for kind in kinds)});
    """
    for table, kinds in KINDS.items()
)
KEEP_TEXTS = (
    "\n".join(f"DROP TRIGGER forget_receipt_texts ON {table};" for table in KINDS)
    + "DROP FUNCTION knowledge_forget_receipt_texts();"
)


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0032_number_records'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ReceiptText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(blank=True, help_text='Kind of what the line is of.', max_length=20)),
                ('source_id', models.CharField(blank=True, help_text='Id of what the line is of.', max_length=36)),
                ('quoted_id', models.CharField(blank=True, help_text='Id of another of the kind that it quotes.', max_length=36)),
                ('digest', models.CharField(help_text='SHA-256 of the text.', max_length=64)),
                ('text', models.TextField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it was told first.')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', 'digest'], name='receipt_text_of_user'), models.Index(fields=['kind', 'source_id'], name='receipt_text_of_thing'), models.Index(condition=models.Q(('quoted_id', ''), _negated=True), fields=['kind', 'quoted_id'], name='receipt_text_quoting_thing')],
            },
        ),
        migrations.RunSQL(ISOLATE_OWNERS, SHARE_TABLE),
        migrations.AddField(
            model_name='hookevent',
            name='texts',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='The lines as they were told.', null=True, size=None),
        ),
        migrations.AddField(
            model_name='receipt',
            name='texts',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Its lines as told, in their order.', null=True, size=None),
        ),
        migrations.RunSQL(FORGET_TEXTS, KEEP_TEXTS),
    ]

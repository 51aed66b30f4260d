"""Conversations of clients, the events of their hooks, and how a user wants memory to be written.

All of it is seen by its owner alone, as decision 0014 has it.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

SEES = "current_setting('bigmind.sees', true)"
OWN = f"(SELECT nullif(nullif({SEES}, 'everybody'), 'nobody'))"
OWNED = (
    "knowledge_capturepolicy",
    "knowledge_conversation",
    "knowledge_hookevent",
    "knowledge_hookhealth",
    "knowledge_tooluse",
)
ISOLATE_OWNERS = "\n".join(
    f"""
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen_by_its_owner ON {table} USING ((SELECT {SEES}) = 'everybody' OR user_id = {OWN}::uuid);
    """
    for table in OWNED
)
SHARE_TABLES = "\n".join(
    f"""
    DROP POLICY seen_by_its_owner ON {table};
    ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
    """
    for table in OWNED
)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0019_note_last_audit_event'),
        ('knowledge', '0025_passage_heads'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CapturePolicy',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='capture_policy', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('mode', models.CharField(choices=[('automatic', 'By itself'), ('ask', 'After asking'), ('manual', 'By hand'), ('read_only', 'Read-only')], default='ask', max_length=10)),
                ('keep_days', models.PositiveSmallIntegerField(default=30)),
                ('never_folders', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=1000), blank=True, default=list, size=None)),
                ('updated_at', models.DateTimeField(auto_now=True, db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'verbose_name_plural': 'capture policies',
                'constraints': [models.CheckConstraint(condition=models.Q(('mode__in', ['automatic', 'ask', 'manual', 'read_only'])), name='capture_mode_is_known'), models.CheckConstraint(condition=models.Q(('keep_days__range', (1, 3650))), name='capture_kept_for_1_to_3650_days')],
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.CharField(max_length=30)),
                ('client_id', models.CharField(help_text='What the client calls it.', max_length=200)),
                ('digest', models.CharField(help_text='SHA-256 of that, as calls over MCP are bound by it.', max_length=64)),
                ('version', models.CharField(blank=True, max_length=60)),
                ('folder', models.CharField(blank=True, max_length=1000)),
                ('repository', models.CharField(blank=True, max_length=200)),
                ('branch', models.CharField(blank=True, max_length=200)),
                ('tools', models.PositiveIntegerField(default=0, help_text='How many uses of tools its hooks reported.')),
                ('withheld', models.PositiveIntegerField(default=0, help_text='Secrets and private passages that were not kept.')),
                ('reminded_at', models.DateTimeField(blank=True, help_text='When its agent was asked to wrap up.', null=True)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to='knowledge.session')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='HookEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.UUIDField(blank=True, null=True)),
                ('event', models.CharField(choices=[('start', 'Start'), ('prompt', 'Prompt'), ('tool', 'Tool'), ('stop', 'Stop'), ('compact', 'Compact'), ('end', 'End')], max_length=10)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('late', models.BooleanField(default=False, help_text='Delivered after BigMind had been away.')),
                ('sub_agent', models.CharField(blank=True, max_length=100)),
                ('prompt', models.TextField(blank=True, help_text='What the user asked, without secrets and private passages.')),
                ('recalled', models.JSONField(default=list, help_text='Kind, id and tokens of each thing that was recalled.')),
                ('tokens', models.PositiveIntegerField(default=0)),
                ('milliseconds', models.PositiveIntegerField(default=0)),
                ('chunks', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text='Exchanges that were kept.', size=None)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='knowledge.conversation')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='HookHealth',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.CharField(max_length=30)),
                ('version', models.CharField(blank=True, max_length=60)),
                ('last_event', models.CharField(blank=True, max_length=10)),
                ('ran_at', models.DateTimeField(blank=True, null=True)),
                ('brought_at', models.DateTimeField(blank=True, null=True)),
                ('failed_at', models.DateTimeField(blank=True, null=True)),
                ('failure', models.CharField(blank=True, max_length=300)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hook_health', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'hook health',
            },
        ),
        migrations.CreateModel(
            name='ToolUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool_use_id', models.CharField(max_length=200)),
                ('sub_agent', models.CharField(blank=True, max_length=100)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tool_uses', to='knowledge.conversation')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['user', '-last_at'], name='conversation_of_user_by_date'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['user', 'digest'], name='conversation_of_user_by_digest'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['last_at'], name='conversation_last_at'),
        ),
        migrations.AddConstraint(
            model_name='conversation',
            constraint=models.UniqueConstraint(fields=('user', 'client', 'client_id'), name='conversation_once_by_client_id'),
        ),
        migrations.AddIndex(
            model_name='hookevent',
            index=models.Index(fields=['conversation', 'at'], name='hook_event_of_conversation'),
        ),
        migrations.AddConstraint(
            model_name='hookevent',
            constraint=models.UniqueConstraint(fields=('user', 'event_id'), name='hook_event_once'),
        ),
        migrations.AddConstraint(
            model_name='hookevent',
            constraint=models.CheckConstraint(condition=models.Q(('event__in', ['start', 'prompt', 'tool', 'stop', 'compact', 'end'])), name='hook_event_is_known'),
        ),
        migrations.AddConstraint(
            model_name='hookhealth',
            constraint=models.UniqueConstraint(fields=('user', 'client'), name='hook_health_once_by_client'),
        ),
        migrations.AddIndex(
            model_name='tooluse',
            index=models.Index(fields=['at'], name='tool_use_at'),
        ),
        migrations.AddConstraint(
            model_name='tooluse',
            constraint=models.UniqueConstraint(fields=('user', 'tool_use_id'), name='tool_use_once'),
        ),
        migrations.RunSQL(ISOLATE_OWNERS, SHARE_TABLES),
        migrations.AddField(
            model_name='writing',
            name='sub_agent',
            field=models.CharField(blank=True, db_default='', help_text="The client's id of the sub-agent that wrote it, if one did.", max_length=100),
        ),
    ]

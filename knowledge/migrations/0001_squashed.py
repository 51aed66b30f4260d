"""All tables of what is known as version 79cbce9 had them, in place of its 18 migrations.

Private rows are seen by their owner alone, whatever a query forgets: see decision 0014. FORCE, because BigMind's own
role owns the tables, and owners would else be let through.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import knowledge.models.passages
import pgvector.django.halfvec
import uuid
from pgvector.django import VectorExtension
from django.conf import settings
from django.db import migrations, models

SEES = "current_setting('bigmind.sees', true)"
OWN = f"(SELECT nullif(nullif({SEES}, 'everybody'), 'nobody'))"
OWNED = (
    "accounts_keptreply",
    "knowledge_session",
    "knowledge_chunk",
    "knowledge_fact",
    "knowledge_hypothesis",
    "knowledge_note",
    "knowledge_serving",
)
OF_A_SESSION = ("knowledge_summary", "knowledge_receipt", "knowledge_shownheadline")
RULES = {
    **{table: f"user_id = {OWN}::uuid" for table in OWNED},
    **{
        table: f"EXISTS (SELECT FROM knowledge_session AS session WHERE session.id = {table}.session_id)"
        for table in OF_A_SESSION
    },
}
ISOLATE_OWNERS = "\n".join(
    f"""
    ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen_by_its_owner ON {table} USING ((SELECT {SEES}) = 'everybody' OR {rule});
    """
    for table, rule in RULES.items()
)
SHARE_TABLES = "\n".join(
    f"""
    DROP POLICY seen_by_its_owner ON {table};
    ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
    """
    for table in RULES
)


class Migration(migrations.Migration):

    initial = True
    replaces = [
        ("knowledge", "0001_initial"),
        ("knowledge", "0002_entries_and_vectors"),
        ("knowledge", "0003_embedding_days"),
        ("knowledge", "0004_company_entries"),
        ("knowledge", "0005_embedding_space_stopped_at"),
        ("knowledge", "0006_fingerprints"),
        ("knowledge", "0007_near_duplicates"),
        ("knowledge", "0008_indexes_of_scopes"),
        ("knowledge", "0009_lexemes_of_parts"),
        ("knowledge", "0010_people"),
        ("knowledge", "0011_servings_and_gaps"),
        ("knowledge", "0012_writings"),
        ("knowledge", "0013_references"),
        ("knowledge", "0014_second_wall"),
        ("knowledge", "0015_company_server"),
        ("knowledge", "0016_app_maps"),
        ("knowledge", "0017_recalls"),
        ("knowledge", "0018_rebuilding"),
    ]

    dependencies = [
        ('accounts', '0001_squashed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        VectorExtension(),
        migrations.CreateModel(
            name='CompanyEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('category', models.CharField(choices=[('architecture', 'Architecture'), ('standard', 'Standard'), ('decision', 'Decision'), ('pattern', 'Pattern'), ('glossary', 'Glossary')], max_length=20)),
                ('title', models.CharField(max_length=80)),
                ('content', models.TextField()),
                ('digest', models.CharField(editable=False, help_text='SHA-256 of the content, spaces folded.', max_length=64)),
                ('importance', models.PositiveSmallIntegerField(default=5)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('topics', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None)),
                ('evidence', models.TextField(blank=True)),
                ('warnings', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, help_text='What looks dangerous in the text.', size=None)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('changes_requested', 'Changes Requested'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('deprecated', 'Deprecated'), ('superseded', 'Superseded')], default='pending', max_length=20)),
                ('revision', models.PositiveIntegerField(default=1)),
                ('source_kind', models.CharField(blank=True, help_text='Kind of what it was made from.', max_length=20)),
                ('source_id', models.CharField(blank=True, help_text='Id of what it was made from.', max_length=36)),
                ('origin', models.CharField(choices=[('user', 'User'), ('inferred', 'Inferred'), ('tool', 'Tool'), ('imported', 'Imported')], default='inferred', max_length=10)),
                ('verified_at', models.DateTimeField(blank=True, null=True)),
                ('review_after', models.DateField(blank=True, null=True)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decision_notes', models.TextField(blank=True)),
                ('told_at', models.DateTimeField(blank=True, help_text="When the proposer's agent heard the decision.", null=True)),
                ('is_copy', models.BooleanField(default=False, help_text='Read from the company server, and decided there.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='proposals', to='accounts.agent')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('endorsed_by', models.ForeignKey(blank=True, help_text='The first of four eyes.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='company_entries', to=settings.AUTH_USER_MODEL)),
                ('proposed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='proposals', to=settings.AUTH_USER_MODEL)),
                ('superseded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='knowledge.companyentry')),
            ],
            options={
                'verbose_name_plural': 'company entries',
            },
        ),
        migrations.CreateModel(
            name='CompanyServer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=200, unique=True)),
                ('identity', models.UUIDField(default=uuid.uuid4, editable=False, help_text='What this BigMind calls itself there.')),
                ('username', models.CharField(blank=True, help_text='Whose key it is, as the server says.', max_length=150)),
                ('profile_url', models.CharField(blank=True, max_length=400)),
                ('registered_at', models.DateTimeField(blank=True, null=True)),
                ('heard_at', models.DateTimeField(blank=True, help_text='When it last answered.', null=True)),
                ('read_at', models.DateTimeField(blank=True, help_text='When its knowledge here was last known to be all.', null=True)),
                ('mark', models.CharField(blank=True, help_text='Changes when its knowledge does.', max_length=64)),
                ('unreadable', models.PositiveIntegerField(default=0, help_text='Entries that could not be taken over.')),
                ('attempts', models.PositiveSmallIntegerField(default=0, help_text='Failures in a row.')),
                ('not_before', models.DateTimeField(default=django.utils.timezone.now)),
                ('trouble', models.TextField(blank=True)),
                ('troubled_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='EmbeddingSpace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Provider, model and length of the vectors.', max_length=200, unique=True)),
                ('dimensions', models.PositiveIntegerField()),
                ('batch_size', models.PositiveSmallIntegerField(default=50, help_text='Texts a worker embeds at once, up to 100.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('active_since', models.DateTimeField(blank=True, help_text='Search uses the one activated last.', null=True)),
                ('stopped_at', models.DateTimeField(blank=True, help_text='Since then nothing is built in it.', null=True)),
                ('again_from', models.DateTimeField(blank=True, help_text='Since then all its vectors are to be made anew, and no worker has marked them.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('set_aside_at', models.DateTimeField(blank=True, null=True)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('one_liner', models.CharField(blank=True, max_length=120)),
                ('topics', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None)),
                ('outcome', models.TextField(blank=True)),
                ('importance', models.PositiveSmallIntegerField(default=5)),
                ('auto_closed', models.BooleanField(default=False)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sessions', to='accounts.agent')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Reference',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=500)),
                ('kind', models.CharField(choices=[('command', 'Command'), ('api', 'API endpoint'), ('guide', 'Guide'), ('feature', 'Feature'), ('troubleshooting', 'Troubleshooting'), ('setting', 'Setting')], max_length=20)),
                ('title', models.CharField(max_length=200)),
                ('category', models.CharField(blank=True, max_length=100)),
                ('subcategory', models.CharField(blank=True, max_length=100)),
                ('name', models.CharField(blank=True, help_text='What it is called exactly.', max_length=500)),
                ('aliases', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, size=None)),
                ('keywords', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None)),
                ('summary', models.TextField(blank=True)),
                ('content', models.TextField(blank=True)),
                ('examples', models.JSONField(blank=True, default=list)),
                ('related', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, size=None)),
                ('source', models.CharField(blank=True, help_text='Where it was read.', max_length=500)),
                ('version', models.CharField(blank=True, max_length=100)),
                ('origin', models.CharField(blank=True, max_length=500)),
                ('form', models.JSONField(blank=True, null=True)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('generated', models.JSONField(blank=True, editable=False, null=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('edited_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='ReferenceCollection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('title', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('program', models.CharField(blank=True, max_length=100)),
                ('base_path', models.CharField(blank=True, max_length=200)),
                ('synonyms', models.JSONField(blank=True, default=dict)),
                ('review_after', models.DateField(blank=True, help_text='When somebody should read it again.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='App',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('look_up', models.CharField(editable=False, help_text='The name without case and spacing.', max_length=200)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('app_id', models.CharField(blank=True, max_length=300)),
                ('aliases', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None)),
                ('connector', models.CharField(blank=True, help_text='Who can read it; empty: only agents can.', max_length=50)),
                ('file', models.CharField(help_text='Its file in an exported folder, without an ending.', max_length=200)),
                ('version', models.PositiveIntegerField(default=1, help_text='Counts the changes of its map.')),
                ('bootstrapped_at', models.DateTimeField(blank=True, null=True)),
                ('reported_gone_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name': 'app map',
                'constraints': [models.UniqueConstraint(fields=('look_up',), name='app_once_per_name'), models.UniqueConstraint(fields=('file',), name='app_once_per_file'), models.UniqueConstraint(condition=models.Q(('app_id', ''), _negated=True), fields=('app_id',), name='app_once_per_id'), models.CheckConstraint(condition=models.Q(('look_up', ''), _negated=True), name='app_has_a_name')],
            },
        ),
        migrations.CreateModel(
            name='AppTable',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('look_up', models.CharField(editable=False, help_text='The name without case and spacing.', max_length=200)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('table_id', models.CharField(blank=True, max_length=300)),
                ('fields', models.JSONField(blank=True, default=list)),
                ('reported_gone_at', models.DateTimeField(blank=True, null=True)),
                ('app', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tables', to='knowledge.app')),
            ],
        ),
        migrations.CreateModel(
            name='AppEntity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('look_up', models.CharField(editable=False, help_text='The name without case and spacing.', max_length=200)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('row_id', models.CharField(blank=True, max_length=300)),
                ('match_field', models.CharField(blank=True, max_length=200)),
                ('match_value', models.CharField(blank=True, max_length=500)),
                ('table', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entities', to='knowledge.apptable')),
            ],
            options={
                'verbose_name_plural': 'app entities',
            },
        ),
        migrations.CreateModel(
            name='AmbiguousName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('look_up', models.CharField(editable=False, help_text='The name without case and spacing.', max_length=200)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('chosen_at', models.DateTimeField(blank=True, null=True)),
                ('chosen_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('default_app', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.app')),
                ('found_in', models.ManyToManyField(related_name='+', to='knowledge.app')),
                ('default_table', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.apptable')),
            ],
        ),
        migrations.CreateModel(
            name='AppWorkflow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('look_up', models.CharField(editable=False, help_text='The name without case and spacing.', max_length=200)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('trigger', models.CharField(blank=True, max_length=500)),
                ('steps', models.TextField(blank=True)),
                ('field', models.CharField(blank=True, max_length=200)),
                ('app', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='workflows', to='knowledge.app')),
                ('table', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='workflows', to='knowledge.apptable')),
            ],
        ),
        migrations.CreateModel(
            name='CompanyCopy',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='copy', serialize=False, to='knowledge.companyentry')),
                ('upstream_id', models.BigIntegerField(help_text='Its number there: 142 for C142.')),
                ('upstream_revision', models.PositiveIntegerField()),
                ('proposed_by', models.CharField(blank=True, max_length=200)),
                ('owner', models.CharField(blank=True, max_length=200)),
                ('decided_by', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'verbose_name_plural': 'company copies',
            },
        ),
        migrations.CreateModel(
            name='Dispatch',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='dispatch', serialize=False, to='knowledge.companyentry')),
                ('key', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('body', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('sent_at', models.DateTimeField(blank=True, help_text='When the company said that it has it.', null=True)),
                ('refused_at', models.DateTimeField(blank=True, null=True)),
                ('trouble', models.TextField(blank=True)),
                ('upstream_id', models.BigIntegerField(blank=True, help_text='Its number there.', null=True)),
                ('status', models.CharField(blank=True, choices=[('pending', 'Pending'), ('changes_requested', 'Changes Requested'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('deprecated', 'Deprecated'), ('superseded', 'Superseded')], help_text='Where it stands there.', max_length=20)),
                ('decided_by', models.CharField(blank=True, max_length=200)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decision_notes', models.TextField(blank=True)),
                ('told_at', models.DateTimeField(blank=True, help_text="When the proposer's agent heard the decision.", null=True)),
            ],
            options={
                'verbose_name_plural': 'dispatches',
            },
        ),
        migrations.CreateModel(
            name='Proof',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='proof', serialize=False, to='knowledge.companyentry')),
                ('served', models.PositiveIntegerField(default=0, help_text='Sessions that were told it.')),
                ('answered', models.PositiveIntegerField(default=0, help_text='Those of them that said what they had used.')),
                ('people', models.PositiveIntegerField(default=0, help_text='People whose sessions these were.')),
                ('cited', models.PositiveIntegerField(default=0)),
                ('misled', models.PositiveIntegerField(default=0)),
                ('last_cited_at', models.DateTimeField(blank=True, null=True)),
                ('tallied_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='EmbeddingDay',
            fields=[
                ('day', models.DateField(help_text='In UTC.', primary_key=True, serialize=False)),
                ('tokens', models.BigIntegerField(help_text='Tokens sent to an endpoint that bills for them.')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('tokens__gte', 0)), name='embedding_day_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='CachedVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('vector', pgvector.django.halfvec.HalfVectorField()),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cached', to='knowledge.embeddingspace')),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('content', models.TextField()),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('entry_type', models.CharField(choices=[('fact', 'Fact'), ('summary', 'Summary'), ('template', 'Template')], default='fact', max_length=10)),
                ('roles', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None)),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('source_file', models.CharField(blank=True, max_length=500)),
                ('source_story', models.CharField(blank=True, max_length=200)),
                ('confidence', models.FloatField(default=1.0)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='entries', to=settings.AUTH_USER_MODEL)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='knowledge.entry')),
                ('similar_to', models.ForeignKey(blank=True, help_text='An older one that says nearly this.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.entry')),
            ],
            options={
                'verbose_name_plural': 'entries',
            },
        ),
        migrations.CreateModel(
            name='EntryFingerprint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=32)),
                ('has_place', models.BooleanField(default=False, help_text='Whether the entry also quotes where it was raised.')),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='fingerprints', to='knowledge.entry')),
            ],
        ),
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Kind of what it is about.', max_length=20)),
                ('source_id', models.CharField(help_text='Id of what it is about.', max_length=36)),
                ('verdict', models.CharField(choices=[('useful', 'Useful'), ('wrong', 'Wrong'), ('outdated', 'Outdated')], max_length=10)),
                ('note', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.agent')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'feedback',
            },
        ),
        migrations.CreateModel(
            name='Gap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, help_text='The question, or the words of it, that four people used.', max_length=300)),
                ('state', models.CharField(choices=[('open', 'Open'), ('answered', 'Answered'), ('dismissed', 'Dismissed')], default='open', max_length=10)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Healing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app_name', models.CharField(max_length=200)),
                ('subject', models.CharField(blank=True, help_text='The table or entity it is about.', max_length=403)),
                ('failure', models.CharField(choices=[('row_gone', 'Row Gone'), ('schema_changed', 'Schema Changed'), ('table_gone', 'Table Gone'), ('app_gone', 'App Gone')], max_length=20)),
                ('outcome', models.CharField(choices=[('found', 'found again'), ('unchanged', 'nothing was wrong'), ('forgotten', 'Forgotten'), ('reported', 'reported, waits for a curator')], max_length=20)),
                ('failed', models.CharField(blank=True, help_text='The id that led nowhere.', max_length=300)),
                ('found', models.CharField(blank=True, help_text='What stands there instead.', max_length=1000)),
                ('by_connector', models.CharField(blank=True, max_length=50)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.agent')),
                ('app', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='healings', to='knowledge.app')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='LessonAsked',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=32, unique=True)),
                ('times', models.PositiveIntegerField(default=0)),
                ('last_asked', models.DateTimeField(default=django.utils.timezone.now)),
                ('entry', models.ForeignKey(blank=True, help_text='The lesson that answered last.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.entry')),
            ],
            options={
                'verbose_name_plural': 'lessons asked',
            },
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('set_aside_at', models.DateTimeField(blank=True, null=True)),
                ('domain', models.CharField(max_length=200)),
                ('key', models.CharField(max_length=200)),
                ('content', models.TextField()),
                ('project', models.CharField(blank=True, max_length=100)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notes', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Passage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('fact', 'Fact'), ('chunk', 'Chunk'), ('summary', 'Summary'), ('note', 'Note'), ('hypothesis', 'Hypothesis'), ('entry', 'Entry'), ('company', 'Company'), ('reference', 'Reference'), ('person', 'Person'), ('app_table', 'App Table'), ('app_entity', 'App Entity'), ('app_workflow', 'App Workflow')], max_length=20)),
                ('source_id', models.CharField(help_text='The id of what it is a piece of.', max_length=36)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('ordinal', models.PositiveIntegerField(default=0)),
                ('text', models.TextField()),
                ('lexemes', models.GeneratedField(db_persist=True, expression=knowledge.models.passages.Lexemes('text'), output_field=django.contrib.postgres.search.SearchVectorField())),
                ('digest', models.CharField(help_text='SHA-256 of the text.', max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='passages', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='PassageVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('vector', pgvector.django.halfvec.HalfVectorField(blank=True, null=True)),
                ('not_before', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='A text that failed waits until then.')),
                ('trouble', models.TextField(blank=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('passage', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='vectors', to='knowledge.passage')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='vectors', to='knowledge.embeddingspace')),
            ],
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='receipt', serialize=False, to='knowledge.session')),
                ('tokens', models.PositiveIntegerField()),
                ('told', models.PositiveIntegerField(help_text='How many company entries, facts and ended sessions it told.')),
                ('lines', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='ShownHeadline',
            fields=[
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='shown_headline', serialize=False, to='knowledge.session')),
                ('text', models.CharField(max_length=120)),
                ('chosen_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='Summary',
            fields=[
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='summary', serialize=False, to='knowledge.session')),
                ('summary', models.TextField()),
                ('key_facts', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('code_refs', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name_plural': 'summaries',
            },
        ),
        migrations.CreateModel(
            name='Recall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('handle', models.CharField(max_length=60)),
                ('why', models.CharField(max_length=200)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('told_at', models.DateTimeField(blank=True, null=True)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.agent')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recalls', to='knowledge.session')),
            ],
        ),
        migrations.CreateModel(
            name='Hypothesis',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('set_aside_at', models.DateTimeField(blank=True, null=True)),
                ('hypothesis', models.TextField()),
                ('confidence', models.FloatField(default=0.7)),
                ('status', models.CharField(choices=[('open', 'Open'), ('confirmed', 'Confirmed'), ('refuted', 'Refuted'), ('abandoned', 'Abandoned')], default='open', max_length=10)),
                ('resolution', models.TextField(blank=True)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hypotheses', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='hypotheses', to='knowledge.session')),
            ],
            options={
                'verbose_name_plural': 'hypotheses',
            },
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('category', models.CharField(choices=[('identity', 'Identity'), ('preference', 'Preference'), ('constraint', 'Constraint'), ('decision', 'Decision'), ('codebase', 'Codebase')], max_length=20)),
                ('fact', models.TextField()),
                ('digest', models.CharField(editable=False, help_text='SHA-256 of the text, spaces folded.', max_length=64)),
                ('confidence', models.FloatField(default=1.0)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('deprecated_at', models.DateTimeField(blank=True, null=True)),
                ('deprecation_reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('similar_to', models.ForeignKey(blank=True, help_text='An older one that says nearly this.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.fact')),
                ('superseded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='knowledge.fact')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='facts', to=settings.AUTH_USER_MODEL)),
                ('source_session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='facts', to='knowledge.session')),
            ],
        ),
        migrations.AddField(
            model_name='companyentry',
            name='source_session',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='proposals', to='knowledge.session'),
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('set_aside_at', models.DateTimeField(blank=True, null=True)),
                ('role', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('system', 'System')], default='assistant', max_length=10)),
                ('content', models.TextField()),
                ('flag_reason', models.TextField(blank=True)),
                ('seq', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='knowledge.session')),
            ],
        ),
        migrations.CreateModel(
            name='ReferenceUse',
            fields=[
                ('reference', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='use', serialize=False, to='knowledge.reference')),
                ('asked', models.PositiveIntegerField(default=0)),
                ('last_asked_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddField(
            model_name='reference',
            name='collection',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='references', to='knowledge.referencecollection'),
        ),
        migrations.CreateModel(
            name='ReferenceDrift',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.JSONField(null=True)),
                ('now', models.JSONField(null=True)),
                ('digest', models.CharField(blank=True, help_text='Of the draft as the source tells it now.', max_length=64)),
                ('opened_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decision', models.CharField(blank=True, choices=[('mine', 'Mine'), ('new', 'New'), ('edited', 'Edited')], max_length=10)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('reference', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='drifts', to='knowledge.reference')),
            ],
        ),
        migrations.CreateModel(
            name='ReferenceImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(blank=True, help_text='What was read: a file, an address, a program.', max_length=500)),
                ('version', models.CharField(blank=True, help_text='The version of what is described.', max_length=100)),
                ('generated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('added', models.PositiveIntegerField(default=0)),
                ('changed', models.PositiveIntegerField(default=0)),
                ('removed', models.PositiveIntegerField(default=0)),
                ('unchanged', models.PositiveIntegerField(default=0)),
                ('drifted', models.PositiveIntegerField(default=0, help_text='Not taken, because people had changed them.')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to='knowledge.referencecollection')),
            ],
        ),
        migrations.CreateModel(
            name='ReferenceName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sort', models.CharField(choices=[('name', 'Name'), ('path', 'Path'), ('alias', 'Alias'), ('key', 'Key'), ('title', 'Title')], max_length=10)),
                ('said', models.CharField(max_length=500)),
                ('lookup', models.CharField(db_index=True, max_length=500)),
                ('method', models.CharField(blank=True, max_length=10)),
                ('reference', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='names', to='knowledge.reference')),
            ],
        ),
        migrations.CreateModel(
            name='ReferenceVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('text', models.JSONField()),
                ('why', models.CharField(help_text='What ended it: import, edit, removal or decision.', max_length=20)),
                ('at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it ended.')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('reference', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='knowledge.reference')),
            ],
        ),
        migrations.CreateModel(
            name='Serving',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Kind of what was told.', max_length=20)),
                ('source_id', models.CharField(help_text='Id of what was told.', max_length=36)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('answered', models.BooleanField(default=False, help_text='Whether the session said at its end what it had used.')),
                ('cited', models.BooleanField(default=False)),
                ('misled', models.BooleanField(default=False)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='servings', to='knowledge.session')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='UnansweredQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.CharField(max_length=300)),
                ('digest', models.CharField(help_text='SHA-256 of the question without capitals and punctuation.', max_length=64)),
                ('times', models.PositiveIntegerField(default=1)),
                ('first_asked', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_asked', models.DateTimeField(default=django.utils.timezone.now)),
                ('vector', pgvector.django.halfvec.HalfVectorField(blank=True, null=True)),
                ('gap', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='knowledge.gap')),
                ('space', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='knowledge.embeddingspace')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='unanswered_questions', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Writing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Kind of what was written.', max_length=20)),
                ('source_id', models.CharField(help_text='Id of what was written.', max_length=36)),
                ('made', models.BooleanField(help_text='The text is its own; else it was there before.')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='writings', to='accounts.agent')),
                ('key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='writings', to='accounts.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='writings', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='AppRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('bootstrap', 'bootstrap'), ('rebuild', 'rebuild')], max_length=10)),
                ('connector', models.CharField(max_length=50)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='waiting', max_length=10)),
                ('left', models.JSONField(blank=True, null=True)),
                ('held_until', models.DateTimeField(blank=True, help_text='A worker is at it until then.', null=True)),
                ('total', models.PositiveIntegerField(default=0)),
                ('done', models.PositiveIntegerField(default=0)),
                ('error', models.CharField(blank=True, max_length=1000)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.agent')),
                ('app', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='knowledge.app')),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['-created_at'], name='app_run_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('waiting', 'running'))), fields=('connector', 'app'), name='app_run_one_at_a_time', nulls_distinct=False)],
            },
        ),
        migrations.AddConstraint(
            model_name='apptable',
            constraint=models.UniqueConstraint(fields=('app', 'look_up'), name='app_table_once_per_name'),
        ),
        migrations.AddConstraint(
            model_name='apptable',
            constraint=models.UniqueConstraint(condition=models.Q(('table_id', ''), _negated=True), fields=('app', 'table_id'), name='app_table_once_per_id'),
        ),
        migrations.AddConstraint(
            model_name='apptable',
            constraint=models.CheckConstraint(condition=models.Q(('look_up', ''), _negated=True), name='app_table_has_a_name'),
        ),
        migrations.AddIndex(
            model_name='appentity',
            index=models.Index(fields=['look_up'], name='app_entity_name'),
        ),
        migrations.AddIndex(
            model_name='appentity',
            index=models.Index(fields=['table', '-last_seen'], name='app_entity_seen'),
        ),
        migrations.AddConstraint(
            model_name='appentity',
            constraint=models.UniqueConstraint(fields=('table', 'look_up'), name='app_entity_once_per_name'),
        ),
        migrations.AddConstraint(
            model_name='appentity',
            constraint=models.CheckConstraint(condition=models.Q(('look_up', ''), _negated=True), name='app_entity_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='ambiguousname',
            constraint=models.UniqueConstraint(fields=('look_up',), name='ambiguous_name_once'),
        ),
        migrations.AddConstraint(
            model_name='appworkflow',
            constraint=models.UniqueConstraint(fields=('app', 'look_up'), name='app_workflow_once_per_name'),
        ),
        migrations.AddConstraint(
            model_name='appworkflow',
            constraint=models.CheckConstraint(condition=models.Q(('look_up', ''), _negated=True), name='app_workflow_has_a_name'),
        ),
        migrations.AddField(
            model_name='companycopy',
            name='server',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='copies', to='knowledge.companyserver'),
        ),
        migrations.AddField(
            model_name='dispatch',
            name='server',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='dispatches', to='knowledge.companyserver'),
        ),
        migrations.AddConstraint(
            model_name='cachedvector',
            constraint=models.UniqueConstraint(fields=('space', 'digest'), name='vector_cached_once'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=django.contrib.postgres.indexes.GinIndex(fields=['roles'], name='entry_roles'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=django.contrib.postgres.indexes.GinIndex(fields=['tags'], name='entry_tags'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['-created_at', 'id'], name='entry_by_date'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['source_story'], name='entry_story'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['entry_type', 'confidence'], name='entry_by_type'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('confidence__range', (0, 1))), name='entry_confidence_0_to_1'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('entry_type__in', ['fact', 'summary', 'template'])), name='entry_type_is_known'),
        ),
        migrations.AddConstraint(
            model_name='entryfingerprint',
            constraint=models.UniqueConstraint(fields=('fingerprint', 'entry'), name='fingerprint_once_in_an_entry'),
        ),
        migrations.AddIndex(
            model_name='feedback',
            index=models.Index(condition=models.Q(('settled_at', None), ('verdict__in', ('wrong', 'outdated'))), fields=['kind', 'source_id'], name='feedback_open_complaints'),
        ),
        migrations.AddConstraint(
            model_name='feedback',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['useful', 'wrong', 'outdated'])), name='feedback_verdict_is_known'),
        ),
        migrations.AddConstraint(
            model_name='feedback',
            constraint=models.UniqueConstraint(fields=('user', 'kind', 'source_id'), name='feedback_once_by_each'),
        ),
        migrations.AddConstraint(
            model_name='gap',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'answered', 'dismissed'])), name='gap_state_is_known'),
        ),
        migrations.AddIndex(
            model_name='healing',
            index=models.Index(fields=['app', '-at'], name='app_healing_of_app'),
        ),
        migrations.AddIndex(
            model_name='note',
            index=models.Index(condition=models.Q(('expires_at', None), _negated=True), fields=['expires_at'], name='note_expiry'),
        ),
        migrations.AddConstraint(
            model_name='note',
            constraint=models.UniqueConstraint(fields=('user', 'domain', 'key'), name='note_once_per_address'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=django.contrib.postgres.indexes.GinIndex(condition=models.Q(('owner', None)), fields=['lexemes'], name='passage_shared_lexemes'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=django.contrib.postgres.indexes.GinIndex(condition=models.Q(('owner__isnull', False)), fields=['lexemes'], name='passage_owned_lexemes'),
        ),
        migrations.AddIndex(
            model_name='passage',
            index=models.Index(fields=['owner', 'kind', 'project', 'created_at'], name='passage_of_scope'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['fact', 'chunk', 'summary', 'note', 'hypothesis', 'entry', 'company', 'reference', 'person', 'app_table', 'app_entity', 'app_workflow'])), name='passage_kind_is_known'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.UniqueConstraint(fields=('kind', 'source_id', 'ordinal'), name='passage_once_per_place'),
        ),
        migrations.AddIndex(
            model_name='passagevector',
            index=models.Index(fields=['space', 'owner'], name='vector_of_owner'),
        ),
        migrations.AddIndex(
            model_name='passagevector',
            index=models.Index(condition=models.Q(('trouble', ''), ('vector__isnull', False), _negated=True), fields=['space', 'not_before', 'id'], name='vector_waiting'),
        ),
        migrations.AddConstraint(
            model_name='passagevector',
            constraint=models.UniqueConstraint(fields=('space', 'passage'), name='vector_once_per_space'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['user', '-started_at', '-id'], name='session_of_user_by_date'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['started_at'], name='session_open'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=django.contrib.postgres.indexes.GinIndex(fields=['topics'], name='session_topics'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('importance__range', (1, 10))), name='session_importance_1_to_10'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('ended_at', None), ('ended_at__gte', models.F('started_at')), _connector='OR'), name='session_ends_after_it_started'),
        ),
        migrations.AddIndex(
            model_name='recall',
            index=models.Index(condition=models.Q(('told_at', None)), fields=['user'], name='recall_untold'),
        ),
        migrations.AddIndex(
            model_name='hypothesis',
            index=models.Index(fields=['user', 'status', '-created_at'], name='hypothesis_of_user_by_status'),
        ),
        migrations.AddConstraint(
            model_name='hypothesis',
            constraint=models.CheckConstraint(condition=models.Q(('confidence__range', (0, 1))), name='hypothesis_confidence_0_to_1'),
        ),
        migrations.AddConstraint(
            model_name='hypothesis',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['open', 'confirmed', 'refuted', 'abandoned'])), name='hypothesis_status_is_known'),
        ),
        migrations.AddConstraint(
            model_name='hypothesis',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('resolved_at', None), ('status', 'open')), models.Q(models.Q(('status', 'open'), _negated=True), ('resolved_at__isnull', False)), _connector='OR'), name='hypothesis_resolved_when_not_open'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('deprecated_at', None)), fields=['user', '-created_at', '-id'], name='fact_current_of_user'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('deprecated_at', None)), fields=['user', 'category', '-created_at', '-id'], name='fact_current_by_category'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('deprecated_at', None)), fields=['user', 'project', '-created_at', '-id'], name='fact_current_by_project'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['user', '-deprecated_at'], name='fact_set_aside_of_user'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(('confidence__range', (0, 1))), name='fact_confidence_0_to_1'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.CheckConstraint(condition=models.Q(('category__in', ['identity', 'preference', 'constraint', 'decision', 'codebase'])), name='fact_category_is_known'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.UniqueConstraint(condition=models.Q(('deprecated_at', None)), fields=('user', 'digest'), name='fact_known_once'),
        ),
        migrations.AddIndex(
            model_name='companyentry',
            index=models.Index(fields=['status', '-importance', 'created_at', 'id'], name='company_by_status'),
        ),
        migrations.AddIndex(
            model_name='companyentry',
            index=models.Index(fields=['status', 'created_at', 'id'], name='company_by_age'),
        ),
        migrations.AddIndex(
            model_name='companyentry',
            index=models.Index(fields=['proposed_by', '-created_at'], name='company_of_proposer'),
        ),
        migrations.AddIndex(
            model_name='companyentry',
            index=models.Index(condition=models.Q(('status', 'approved')), fields=['project', '-importance'], name='company_of_project'),
        ),
        migrations.AddIndex(
            model_name='companyentry',
            index=models.Index(condition=models.Q(('status', 'approved')), fields=['review_after'], name='company_review_date'),
        ),
        migrations.AddIndex(
            model_name='companyentry',
            index=django.contrib.postgres.indexes.GinIndex(fields=['topics'], name='company_topics'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.CheckConstraint(condition=models.Q(('importance__range', (1, 10))), name='company_importance_1_to_10'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'changes_requested', 'approved', 'rejected', 'deprecated', 'superseded'])), name='company_status_is_known'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.CheckConstraint(condition=models.Q(('category__in', ['architecture', 'standard', 'decision', 'pattern', 'glossary'])), name='company_category_is_known'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.CheckConstraint(condition=models.Q(('origin__in', ['user', 'inferred', 'tool', 'imported'])), name='company_origin_is_known'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.CheckConstraint(condition=models.Q(('is_copy', False), ('status', 'approved'), _connector='OR'), name='company_copy_is_approved'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'approved')), fields=('digest',), name='company_approved_once'),
        ),
        migrations.AddConstraint(
            model_name='companyentry',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('pending', 'changes_requested'))), fields=('proposed_by', 'digest'), name='company_proposed_once_by_each'),
        ),
        migrations.AddIndex(
            model_name='chunk',
            index=models.Index(fields=['user', 'created_at'], name='chunk_of_user_by_date'),
        ),
        migrations.AddConstraint(
            model_name='chunk',
            constraint=models.UniqueConstraint(fields=('session', 'seq'), name='chunk_once_per_place'),
        ),
        migrations.AddConstraint(
            model_name='chunk',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['user', 'assistant', 'system'])), name='chunk_role_is_known'),
        ),
        migrations.AddIndex(
            model_name='reference',
            index=models.Index(fields=['collection', 'kind', 'category'], name='reference_of_shelf'),
        ),
        migrations.AddConstraint(
            model_name='reference',
            constraint=models.UniqueConstraint(fields=('collection', 'key'), name='reference_key_once'),
        ),
        migrations.AddConstraint(
            model_name='reference',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['command', 'api', 'guide', 'feature', 'troubleshooting', 'setting'])), name='reference_kind_is_known'),
        ),
        migrations.AddConstraint(
            model_name='referencedrift',
            constraint=models.UniqueConstraint(condition=models.Q(('decided_at', None)), fields=('reference',), name='reference_drift_open_once'),
        ),
        migrations.AddIndex(
            model_name='referenceimport',
            index=models.Index(fields=['collection', '-at'], name='reference_import_newest'),
        ),
        migrations.AddIndex(
            model_name='referencename',
            index=models.Index(fields=['sort'], name='reference_name_sort'),
        ),
        migrations.AddConstraint(
            model_name='referenceversion',
            constraint=models.UniqueConstraint(fields=('reference', 'number'), name='reference_version_once'),
        ),
        migrations.AddIndex(
            model_name='serving',
            index=models.Index(fields=['kind', 'source_id'], name='serving_of_thing'),
        ),
        migrations.AddIndex(
            model_name='serving',
            index=models.Index(fields=['at'], name='serving_at'),
        ),
        migrations.AddIndex(
            model_name='serving',
            index=models.Index(fields=['user', '-at'], name='serving_of_user'),
        ),
        migrations.AddConstraint(
            model_name='serving',
            constraint=models.UniqueConstraint(fields=('session', 'kind', 'source_id'), name='serving_once_in_a_session'),
        ),
        migrations.AddIndex(
            model_name='unansweredquestion',
            index=models.Index(fields=['digest'], name='question_digest'),
        ),
        migrations.AddIndex(
            model_name='unansweredquestion',
            index=models.Index(fields=['last_asked'], name='question_last_asked'),
        ),
        migrations.AddConstraint(
            model_name='unansweredquestion',
            constraint=models.UniqueConstraint(fields=('user', 'digest'), name='question_once_by_each'),
        ),
        migrations.AddIndex(
            model_name='writing',
            index=models.Index(fields=['key', 'at'], name='writing_of_key'),
        ),
        migrations.AddIndex(
            model_name='writing',
            index=models.Index(fields=['agent', 'at'], name='writing_of_agent'),
        ),
        migrations.AddIndex(
            model_name='writing',
            index=models.Index(fields=['user', 'at'], name='writing_of_user'),
        ),
        migrations.AddIndex(
            model_name='writing',
            index=models.Index(fields=['kind', 'source_id'], name='writing_of_source'),
        ),
        migrations.AddConstraint(
            model_name='companycopy',
            constraint=models.UniqueConstraint(fields=('server', 'upstream_id'), name='copy_once_per_entry'),
        ),
        migrations.AddIndex(
            model_name='dispatch',
            index=models.Index(fields=['server', 'sent_at'], name='dispatch_of_server'),
        ),
        migrations.RunSQL(ISOLATE_OWNERS, SHARE_TABLES),
    ]

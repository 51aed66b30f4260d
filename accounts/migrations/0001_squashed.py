"""All tables of the accounts as version 79cbce9 had them, in place of its 17 migrations.

Reports of erasures and the audit log only grow: the database itself refuses to change or delete a row of them. One
change passes: names of people, and the links to them, may be taken away, so that a person can be erased.
"""

import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

GUARD_ERASURES = """
CREATE FUNCTION accounts_erasures_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - 'asked_by_id' - 'whose_id' = to_jsonb(OLD) - 'asked_by_id' - 'whose_id'
        AND (NEW.asked_by_id IS NULL OR NEW.asked_by_id = OLD.asked_by_id)
        AND (NEW.whose_id IS NULL OR NEW.whose_id = OLD.whose_id)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Reports of erasures are append-only.' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_erasures_only_grow BEFORE UPDATE OR DELETE ON accounts_erasurereport
    FOR EACH ROW EXECUTE FUNCTION accounts_erasures_only_grow();
"""
UNGUARD_ERASURES = """
DROP TRIGGER accounts_erasures_only_grow ON accounts_erasurereport;
DROP FUNCTION accounts_erasures_only_grow();
"""
GUARD_AUDIT = """
CREATE FUNCTION accounts_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - 'by_id' - 'by_name' - 'about_id' - 'about_name'
            = to_jsonb(OLD) - 'by_id' - 'by_name' - 'about_id' - 'about_name'
        AND (NEW.by_id IS NULL OR NEW.by_id = OLD.by_id) AND NEW.by_name IN (OLD.by_name, '')
        AND (NEW.about_id IS NULL OR NEW.about_id = OLD.about_id) AND NEW.about_name IN (OLD.about_name, '')
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The audit log is append-only.' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_audit_only_grows BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_only_grows();
"""
UNGUARD_AUDIT = """
DROP TRIGGER accounts_audit_only_grows ON accounts_auditevent;
DROP FUNCTION accounts_audit_only_grows();
"""


class Migration(migrations.Migration):

    initial = True
    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_apikey_unlinked_at"),
        ("accounts", "0003_sign_in_tries"),
        ("accounts", "0004_sharing"),
        ("accounts", "0005_tokens_of_calls"),
        ("accounts", "0006_invitations_and_sign_ins"),
        ("accounts", "0007_alerts"),
        ("accounts", "0008_connected_apps"),
        ("accounts", "0009_sso"),
        ("accounts", "0010_vouch_for_invited"),
        ("accounts", "0011_instances"),
        ("accounts", "0012_key_limits"),
        ("accounts", "0013_task_tallies"),
        ("accounts", "0014_erasures"),
        ("accounts", "0015_erasures_only_grow"),
        ("accounts", "0016_audit"),
        ("accounts", "0017_audit_only_grows"),
    ]

    dependencies = [
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('username', models.CharField(max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()])),
                ('display_name', models.CharField(blank=True, max_length=200)),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('is_email_vouched', models.BooleanField(db_default=False, default=False, help_text='An admin gave the address, not the person: by it, the company’s own sign-in finds them.', verbose_name='e-mail is vouched for')),
                ('role', models.CharField(choices=[('member', 'Member'), ('curator', 'Curator'), ('admin', 'Admin')], default='member', max_length=10)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('last_seen', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client_name', models.CharField(max_length=200)),
                ('client_version', models.CharField(blank=True, max_length=100)),
                ('host', models.CharField(blank=True, max_length=200)),
                ('first_seen', models.DateTimeField(auto_now_add=True)),
                ('last_seen', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('key_ends', 'Key Ends'), ('key_ends_soon', 'Key Ends Soon'), ('factor_set_up', 'Factor Set Up'), ('factor_removed', 'Factor Removed'), ('factor_reset', 'Factor Reset'), ('codes_renewed', 'Codes Renewed'), ('code_used', 'Code Used'), ('sso_linked', 'Sso Linked')], max_length=20)),
                ('text', models.CharField(max_length=300)),
                ('by_name', models.CharField(blank=True, help_text='Who did it, where it was somebody else.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('label', models.CharField(blank=True, max_length=200)),
                ('prefix', models.CharField(help_text='The first characters, to recognise it by.', max_length=12)),
                ('digest', models.CharField(help_text='SHA-256 of the key, in hexadecimal.', max_length=64, unique=True)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), default=list, size=None)),
                ('toolsets', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), blank=True, default=list, help_text='Empty: all.', size=None)),
                ('per_minute', models.PositiveIntegerField(blank=True, help_text='Operations it may perform in a minute. Empty: BIGMIND_RATE_LIMIT.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_by', models.CharField(blank=True, help_text='The client that used it last.', max_length=200)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('unlinked_at', models.DateTimeField(blank=True, help_text='When it was taken from its user.', null=True)),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
            },
        ),
        migrations.CreateModel(
            name='AppToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('code', 'Code'), ('access', 'Access'), ('refresh', 'Refresh')], max_length=10)),
                ('digest', models.CharField(help_text='SHA-256 of its text, in hexadecimal.', max_length=64, unique=True)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), size=None)),
                ('resource', models.CharField(help_text='The address it opens, and no other.', max_length=500)),
                ('challenge', models.CharField(blank=True, help_text='Of a code: what its verifier must hash to.', max_length=128)),
                ('redirect_uri', models.CharField(blank=True, help_text='Of a code: where it was sent.', max_length=2000)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('exchanged_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveBigIntegerField(unique=True)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('event', models.CharField(max_length=40)),
                ('by_id_kept', models.UUIDField(help_text='Who did it; nobody: a command, or the scheduler.', null=True)),
                ('by_name', models.CharField(blank=True, max_length=200)),
                ('about_id_kept', models.UUIDField(help_text='To whom it was done.', null=True)),
                ('about_name', models.CharField(blank=True, max_length=200)),
                ('details', models.JSONField(default=dict)),
                ('seal', models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='Call',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('operation', models.CharField(max_length=100)),
                ('door', models.CharField(max_length=10)),
                ('outcome', models.CharField(help_text='`ok`, or the code of the refusal.', max_length=20)),
                ('milliseconds', models.FloatField()),
                ('tokens', models.PositiveIntegerField(blank=True, help_text='What the reply cost, where an agent read it.', null=True)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='ConnectedApp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client_id', models.CharField(help_text='Given by us, or the address of its document.', max_length=500, unique=True)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('redirect_uris', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=2000), help_text='Where people may be sent back to.', size=None)),
                ('introduced_from', models.CharField(blank=True, help_text='Where it came from; of IPv6, the network.', max_length=45)),
                ('introduced_at', models.DateTimeField(auto_now_add=True)),
                ('read_at', models.DateTimeField(blank=True, help_text='When its document was read last.', null=True)),
                ('let_in_at', models.DateTimeField(blank=True, help_text='When somebody first let it in.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ErasureReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('document', models.JSONField()),
                ('signature', models.CharField(help_text='Ed25519, in hexadecimal.', max_length=128)),
                ('public_key', models.CharField(help_text='The key it can be checked with, in hexadecimal.', max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='Instance',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('identity', models.UUIDField(help_text='What it calls itself, made once at the other end.')),
                ('name', models.CharField(max_length=100)),
                ('version', models.CharField(blank=True, max_length=50)),
                ('url', models.CharField(blank=True, help_text='Where its own pages are, if others can reach them.', max_length=200)),
                ('statistics', models.JSONField(blank=True, default=dict, help_text='Counts, and nothing else.')),
                ('first_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, max_length=200)),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('role', models.CharField(choices=[('member', 'Member'), ('curator', 'Curator'), ('admin', 'Admin')], default='member', max_length=10)),
                ('digest', models.CharField(help_text="SHA-256 of the link's token, in hexadecimal.", max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='KeptReply',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('idempotency_key', models.CharField(max_length=200)),
                ('operation', models.CharField(max_length=100)),
                ('fingerprint', models.CharField(help_text='SHA-256 of the operation and its arguments.', max_length=64)),
                ('reply', models.JSONField(null=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name_plural': 'kept replies',
            },
        ),
        migrations.CreateModel(
            name='SignIn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user_agent', models.CharField(blank=True, help_text='How the browser names itself.', max_length=300)),
                ('address', models.CharField(blank=True, help_text='Where it was seen last.', max_length=45)),
                ('since', models.DateTimeField()),
                ('last_seen', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'sign-in',
            },
        ),
        migrations.CreateModel(
            name='SignInLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='SignInTry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_digest', models.CharField(max_length=64)),
                ('address', models.CharField(blank=True, help_text='Where it came from; of IPv6, the network.', max_length=45)),
                ('at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'sign-in try',
                'verbose_name_plural': 'sign-in tries',
            },
        ),
        migrations.CreateModel(
            name='TaskTally',
            fields=[
                ('task', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('runs', models.PositiveBigIntegerField(default=0)),
                ('failures', models.PositiveBigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0)),
                ('ended_at', models.DateTimeField(help_text='When it ended last.')),
                ('scheduled_at', models.DateTimeField(blank=True, help_text='When it last ended as the scheduler asked.', null=True)),
                ('failed_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.CharField(blank=True, help_text='Of the last failure: its kind, never its words.', max_length=100)),
                ('request_id', models.CharField(blank=True, help_text='Of the last failure, as in the log.', max_length=64)),
            ],
            options={
                'verbose_name_plural': 'task tallies',
            },
        ),
        migrations.CreateModel(
            name='Profile',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='profile', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(blank=True, help_text='Job title or engineering role.', max_length=500)),
                ('preferences', models.TextField(blank=True)),
                ('pinned_facts', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='Sharing',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='sharing', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('sections', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('who', 'who'), ('role', 'role'), ('agents', 'agents'), ('statistics', 'statistics'), ('badges', 'badges'), ('topics', 'topics'), ('activity', 'activity'), ('contributions', 'contributions'), ('headlines', 'headlines')], max_length=20), blank=True, default=list, size=None)),
                ('in_directory', models.BooleanField(default=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name_plural': 'sharing',
            },
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='username_once_whatever_case'),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['member', 'curator', 'admin'])), name='role_is_known'),
        ),
        migrations.AddField(
            model_name='agent',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agents', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='alert',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='apikey',
            name='replaces',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replaced_by', to='accounts.apikey'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='user',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='keys', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='alert',
            name='key',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='accounts.apikey'),
        ),
        migrations.AddField(
            model_name='apptoken',
            name='key',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='accounts.apikey'),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='about',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='auditevent',
            name='by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='call',
            name='agent',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='calls', to='accounts.agent'),
        ),
        migrations.AddField(
            model_name='call',
            name='key',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='calls', to='accounts.apikey'),
        ),
        migrations.AddField(
            model_name='call',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='connectedapp',
            index=models.Index(fields=['introduced_from', 'introduced_at'], name='connected_app_from'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='app',
            field=models.ForeignKey(blank=True, help_text="The connected app it belongs to: then nobody has its text, and the app's tokens open it.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='keys', to='accounts.connectedapp'),
        ),
        migrations.AddField(
            model_name='erasurereport',
            name='asked_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='erasures_asked', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='erasurereport',
            name='whose',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='erasures', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='instance',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='instances', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='invitation',
            name='invited_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='keptreply',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kept_replies', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='signin',
            name='session',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in', to='sessions.session'),
        ),
        migrations.AddField(
            model_name='signin',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_ins', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='signinlink',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_links', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='signintry',
            index=models.Index(fields=['address', 'at'], name='sign_in_try_from'),
        ),
        migrations.AddIndex(
            model_name='signintry',
            index=models.Index(fields=['at'], name='sign_in_try_at'),
        ),
        migrations.AddConstraint(
            model_name='sharing',
            constraint=models.CheckConstraint(condition=models.Q(('sections__contained_by', ['who', 'role', 'agents', 'statistics', 'badges', 'topics', 'activity', 'contributions', 'headlines'])), name='sharing_sections_are_known'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.UniqueConstraint(fields=('user', 'client_name', 'host'), name='agent_once_per_client_and_host'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['user', '-created_at'], name='alert_of_user'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('seen_at', None)), fields=['user'], name='alert_unseen'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('key', None), _negated=True), fields=('key', 'kind'), name='alert_once_for_a_key'),
        ),
        migrations.AddIndex(
            model_name='apptoken',
            index=models.Index(fields=['expires_at'], name='app_token_expires'),
        ),
        migrations.AddConstraint(
            model_name='apptoken',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['code', 'access', 'refresh'])), name='token_kind_known'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['-at'], name='audit_by_date'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['by_id_kept'], name='audit_by_person'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['about_id_kept'], name='audit_about_person'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(fields=['user', '-at'], name='call_of_user'),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(fields=['at'], name='call_at'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['read', 'write', 'curate', 'admin']), models.Q(('scopes', []), _negated=True)), name='scopes_are_known'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('user', None), ('unlinked_at', None), _connector='OR'), name='unlinked_means_no_user'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('per_minute', 0), _negated=True), name='a_limit_lets_something_through'),
        ),
        migrations.AddIndex(
            model_name='erasurereport',
            index=models.Index(fields=['-at'], name='erasure_by_date'),
        ),
        migrations.AddIndex(
            model_name='erasurereport',
            index=models.Index(fields=['whose', '-at'], name='erasure_of_person'),
        ),
        migrations.AddIndex(
            model_name='instance',
            index=models.Index(fields=['-last_seen'], name='instance_by_last_seen'),
        ),
        migrations.AddConstraint(
            model_name='instance',
            constraint=models.UniqueConstraint(fields=('user', 'identity'), name='instance_once_per_user'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['member', 'curator', 'admin'])), name='invitation_role_is_known'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('email', ''), ('name', ''), _negated=True), name='invitation_names_somebody'),
        ),
        migrations.AddIndex(
            model_name='keptreply',
            index=models.Index(fields=['at'], name='kept_reply_at'),
        ),
        migrations.AddConstraint(
            model_name='keptreply',
            constraint=models.UniqueConstraint(fields=('user', 'idempotency_key'), name='one_reply_per_key'),
        ),
        migrations.AddIndex(
            model_name='signin',
            index=models.Index(fields=['user', '-last_seen'], name='sign_in_of_user'),
        ),
        migrations.RunSQL(GUARD_ERASURES, UNGUARD_ERASURES),
        migrations.RunSQL(GUARD_AUDIT, UNGUARD_AUDIT),
    ]

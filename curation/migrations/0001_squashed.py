"""All tables of curation as version 79cbce9 had them, in place of its three migrations.

The history of decisions only grows: the database itself refuses to change or delete a row of it. One change passes:
the name of a person, and the link to them, may be taken away, so that they can be erased.
"""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

GUARD_REVIEWS = """
CREATE FUNCTION curation_review_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - 'by_id' - 'by_name' - 'agent_name' = to_jsonb(OLD) - 'by_id' - 'by_name' - 'agent_name'
        AND (NEW.by_id IS NULL OR NEW.by_id = OLD.by_id)
        AND NEW.by_name IN (OLD.by_name, '') AND NEW.agent_name IN (OLD.agent_name, '')
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The history of company knowledge is append-only.' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER curation_review_only_grows BEFORE UPDATE OR DELETE ON curation_review
    FOR EACH ROW EXECUTE FUNCTION curation_review_only_grows();
"""
UNGUARD_REVIEWS = """
DROP TRIGGER curation_review_only_grows ON curation_review;
DROP FUNCTION curation_review_only_grows();
"""


class Migration(migrations.Migration):

    initial = True
    replaces = [
        ("curation", "0001_reviews"),
        ("curation", "0002_append_only"),
        ("curation", "0003_subscriptions"),
    ]

    dependencies = [
        ('accounts', '0001_squashed'),
        ('knowledge', '0001_squashed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='claim', serialize=False, to='knowledge.companyentry')),
                ('until', models.DateTimeField()),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='claims', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(help_text='1 for the proposal, then counted up.')),
                ('action', models.CharField(choices=[('propose', 'Propose'), ('revise', 'Revise'), ('withdraw', 'Withdraw'), ('endorse', 'Endorse'), ('approve', 'Approve'), ('reject', 'Reject'), ('request_changes', 'Request Changes'), ('merge', 'Merge'), ('edit', 'Edit'), ('verify', 'Verify'), ('deprecate', 'Deprecate'), ('supersede', 'Supersede'), ('restore', 'Restore'), ('reopen', 'Reopen'), ('assign', 'Assign'), ('keep', 'Keep'), ('undo', 'Undo')], max_length=20)),
                ('by_id_kept', models.UUIDField(help_text='Who it was, also when the user is gone.')),
                ('by_name', models.CharField(max_length=200)),
                ('agent_name', models.CharField(blank=True, max_length=400)),
                ('notes', models.TextField(blank=True)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField()),
                ('batch', models.UUIDField(default=uuid.uuid4, help_text='The same for all rows of one decision.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seal', models.CharField(max_length=64)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reviews', to=settings.AUTH_USER_MODEL)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='knowledge.companyentry')),
                ('undoes', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='undone_by', to='curation.review')),
            ],
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.CharField(max_length=300)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='knowledge.companyentry')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to=settings.AUTH_USER_MODEL)),
                ('review', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='curation.review')),
            ],
        ),
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='subscription', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('frequency', models.CharField(choices=[('never', 'Never'), ('at_once', 'At Once'), ('daily', 'Daily'), ('weekly', 'Weekly')], default='daily', max_length=10)),
                ('last_sent_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('frequency__in', ['never', 'at_once', 'daily', 'weekly'])), name='subscription_frequency_is_known')],
            },
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='comments', to=settings.AUTH_USER_MODEL)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='knowledge.companyentry')),
            ],
            options={
                'indexes': [models.Index(fields=['entry', 'created_at'], name='comment_of_entry')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('channel', models.CharField(choices=[('webhook', 'Webhook'), ('email', 'Email')], max_length=10)),
                ('event', models.CharField(max_length=50)),
                ('body', models.JSONField()),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('not_before', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('given_up_at', models.DateTimeField(blank=True, null=True)),
                ('trouble', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('to', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'indexes': [models.Index(condition=models.Q(('delivered_at', None), ('given_up_at', None)), fields=['not_before'], name='delivery_waiting')],
                'constraints': [models.CheckConstraint(condition=models.Q(('channel__in', ['webhook', 'email'])), name='delivery_channel_is_known')],
            },
        ),
        migrations.AddIndex(
            model_name='review',
            index=models.Index(fields=['-created_at'], name='review_by_date'),
        ),
        migrations.AddIndex(
            model_name='review',
            index=models.Index(fields=['batch'], name='review_of_batch'),
        ),
        migrations.AddIndex(
            model_name='review',
            index=models.Index(fields=['by', '-created_at'], name='review_by_person'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.UniqueConstraint(fields=('entry', 'number'), name='review_once_per_place'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.UniqueConstraint(fields=('undoes',), name='review_undone_once'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.CheckConstraint(condition=models.Q(('action__in', ['propose', 'revise', 'withdraw', 'endorse', 'approve', 'reject', 'request_changes', 'merge', 'edit', 'verify', 'deprecate', 'supersede', 'restore', 'reopen', 'assign', 'keep', 'undo'])), name='review_action_is_known'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(fields=['user', '-created_at'], name='notice_of_user'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('seen_at', None)), fields=['user'], name='notice_unseen'),
        ),
        migrations.RunSQL(GUARD_REVIEWS, UNGUARD_REVIEWS),
    ]

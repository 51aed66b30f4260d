"""What agents asked lately, kept so that a decision can be tried on it before it is made."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

ISOLATE = """
    ALTER TABLE knowledge_askedquestion ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen_by_its_owner ON knowledge_askedquestion
    USING (coalesce(user_id = (SELECT bigmind_sees()), true));
"""
SHARE = """
    DROP POLICY seen_by_its_owner ON knowledge_askedquestion;
    ALTER TABLE knowledge_askedquestion NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0044_index_gaps'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AskedQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('how', models.CharField(choices=[('recall', 'Recall'), ('search', 'Search'), ('prompt', 'Prompt'), ('company', 'Company'), ('start', 'Start')], max_length=10)),
                ('project', models.CharField(blank=True, max_length=100)),
                ('text', models.CharField(blank=True, help_text='Its words; of a start there are none.', max_length=300)),
                ('digest', models.CharField(help_text='SHA-256 of all of it.', max_length=64)),
                ('times', models.PositiveIntegerField(default=1)),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it was asked last.')),
                ('vector', models.BinaryField(blank=True, help_text='Its vector, in half precision.', null=True)),
                ('tokens', models.BinaryField(blank=True, help_text="The signs of its tokens' vectors.", null=True)),
                ('outline', models.JSONField(default=dict)),
                ('space', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='knowledge.embeddingspace')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='asked_questions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['-asked_at'], name='asked_newest')],
                'constraints': [models.UniqueConstraint(fields=('user', 'how', 'project', 'digest'), name='asked_once_by_each'), models.CheckConstraint(condition=models.Q(('how__in', ['recall', 'search', 'prompt', 'company', 'start'])), name='asked_form_is_known')],
            },
        ),
        migrations.RunSQL(ISOLATE, SHARE),
    ]

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0005_embedding_space_stopped_at'),
    ]

    operations = [
        migrations.CreateModel(
            name='EntryFingerprint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=32)),
                ('has_place', models.BooleanField(default=False, help_text='Whether the entry also quotes where it was raised.')),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='fingerprints', to='knowledge.entry')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('fingerprint', 'entry'), name='fingerprint_once_in_an_entry')],
            },
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
    ]

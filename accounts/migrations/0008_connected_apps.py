"""Let people connect apps, which come in with tokens instead of a key."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_alerts'),
    ]

    operations = [
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
            options={
                'indexes': [models.Index(fields=['introduced_from', 'introduced_at'], name='connected_app_from')],
            },
        ),
        migrations.AddField(
            model_name='apikey',
            name='app',
            field=models.ForeignKey(blank=True, help_text="The connected app it belongs to: then nobody has its text, and the app's tokens open it.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='keys', to='accounts.connectedapp'),
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
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='accounts.apikey')),
            ],
            options={
                'indexes': [models.Index(fields=['expires_at'], name='app_token_expires')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['code', 'access', 'refresh'])), name='token_kind_known')],
            },
        ),
    ]

"""Triggers have one level, for everyone."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0075_retire_acts'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='firing',
            name='team',
        ),
        migrations.AlterField(
            model_name='companyentry',
            name='trigger_levels',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='The level of the triggers, under an empty key.'),
        ),
        migrations.AlterField(
            model_name='entry',
            name='trigger_levels',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='The level of the triggers, under an empty key.'),
        ),
    ]

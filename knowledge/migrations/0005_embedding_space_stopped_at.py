from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('knowledge', '0004_company_entries'),
    ]

    operations = [
        migrations.AddField(
            model_name='embeddingspace',
            name='stopped_at',
            field=models.DateTimeField(blank=True, help_text='Since then nothing is built in it.', null=True),
        ),
    ]

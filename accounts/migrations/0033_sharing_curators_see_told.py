from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0032_backup_runs'),
    ]

    operations = [
        migrations.AddField(
            model_name='sharing',
            name='curators_see_told',
            field=models.BooleanField(db_default=False, default=False, help_text='Whether curators may see what their agent had been told when it proposed something.'),
        ),
    ]

"""Teams served the levels of triggers alone, and go with them."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0044_user_browser_zone'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='user',
            name='team',
        ),
    ]

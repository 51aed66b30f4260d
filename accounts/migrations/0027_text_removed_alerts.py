"""A person is told that a text was removed from their memory."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0026_question_alerts'),
    ]

    operations = [
        migrations.AlterField(
            model_name='alert',
            name='kind',
            field=models.CharField(choices=[('key_ends', 'Key Ends'), ('key_ends_soon', 'Key Ends Soon'), ('factor_set_up', 'Factor Set Up'), ('factor_removed', 'Factor Removed'), ('factor_reset', 'Factor Reset'), ('codes_renewed', 'Codes Renewed'), ('code_used', 'Code Used'), ('sso_linked', 'Sso Linked'), ('private_opened', 'Private Opened'), ('question_asked', 'Question Asked'), ('question_settled', 'Question Settled'), ('text_removed', 'Text Removed')], max_length=20),
        ),
    ]

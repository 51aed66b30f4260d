from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0023_private_rows_are_opened")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="first_steps_closed_at",
            field=models.DateTimeField(
                blank=True, help_text="When they finished or skipped the first steps.", null=True
            ),
        ),
    ]

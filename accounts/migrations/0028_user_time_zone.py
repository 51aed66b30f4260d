from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0027_text_removed_alerts")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Such as Europe/Berlin; empty: not known.", max_length=64
            ),
        ),
    ]

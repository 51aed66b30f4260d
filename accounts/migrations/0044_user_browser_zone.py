from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0043_backups_to_a_folder")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="browser_zone",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="The time zone of the browser used last.", max_length=64
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="time_zone",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Such as Europe/Berlin; empty: not chosen.",
                max_length=64,
            ),
        ),
    ]

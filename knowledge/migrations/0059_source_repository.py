"""By its first commit a repository is known again, whatever its address is now."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0058_questions_asked_again")]

    operations = [
        migrations.CreateModel(
            "SourceRepository",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(max_length=500, unique=True, help_text="Such as github.com/acme/shop."),
                ),
                ("first_commit", models.CharField(max_length=64, db_index=True)),
            ],
            options={"verbose_name_plural": "source repositories"},
        ),
    ]

"""What admins set in the page of settings."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0024_first_steps")]

    operations = [
        migrations.CreateModel(
            name="SettingOverride",
            fields=[
                (
                    "name",
                    models.CharField(
                        help_text="As in the environment, without BIGMIND_.",
                        max_length=60,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("value", models.JSONField()),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        )
    ]

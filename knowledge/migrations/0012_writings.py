"""With which key and through which agent things are stored."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the table."""

    dependencies = [
        ("accounts", "0003_sign_in_tries"),
        ("knowledge", "0011_servings_and_gaps"),
    ]

    operations = [
        migrations.CreateModel(
            name="Writing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(help_text="Kind of what was written.", max_length=20)),
                ("source_id", models.CharField(help_text="Id of what was written.", max_length=36)),
                ("made", models.BooleanField(help_text="The text is its own; else it was there before.")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="writings",
                        to="accounts.agent",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="writings",
                        to="accounts.apikey",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["key", "at"], name="writing_of_key"),
                    models.Index(fields=["agent", "at"], name="writing_of_agent"),
                    models.Index(fields=["user", "at"], name="writing_of_user"),
                    models.Index(fields=["kind", "source_id"], name="writing_of_source"),
                ],
            },
        ),
    ]

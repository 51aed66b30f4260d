"""Webhooks that admins add, and which of them a delivery goes to."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("curation", "0008_notice_reasons"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                ("url", models.CharField(max_length=500)),
                ("secret", models.TextField(help_text="Encrypted.")),
                ("old_secret", models.TextField(blank=True, help_text="Encrypted; signs too until `old_until`.")),
                ("old_until", models.DateTimeField(blank=True, null=True)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), size=None),
                ),
                ("is_on", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
        ),
        migrations.AddField(
            model_name="delivery",
            name="webhook",
            field=models.ForeignKey(
                blank=True,
                help_text="Empty for the one of the environment.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                db_index=False,
                to="curation.webhook",
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(fields=["webhook"], condition=models.Q(webhook__isnull=False), name="delivery_of_webhook"),
        ),
    ]

"""Let people choose what others see of their page."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

SECTIONS = ["who", "role", "agents", "statistics", "badges", "topics", "activity", "contributions", "headlines"]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_sign_in_tries")]

    operations = [
        migrations.CreateModel(
            name="Sharing",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sharing",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "sections",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(choices=[(name, name) for name in SECTIONS], max_length=20),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("in_directory", models.BooleanField(default=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name_plural": "sharing",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("sections__contained_by", SECTIONS)), name="sharing_sections_are_known"
                    )
                ],
            },
        ),
    ]

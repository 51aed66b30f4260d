"""Invite people, and show them where they are signed in."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ROLES = [("member", "Member"), ("curator", "Curator"), ("admin", "Admin")]


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_tokens_of_calls"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(blank=True, max_length=200)),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("role", models.CharField(choices=ROLES, default="member", max_length=10)),
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the link's token, in hexadecimal.", max_length=64, unique=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "invited_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["member", "curator", "admin"])),
                        name="invitation_role_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("email", ""), ("name", ""), _negated=True),
                        name="invitation_names_somebody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SignIn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user_agent",
                    models.CharField(blank=True, help_text="How the browser names itself.", max_length=300),
                ),
                ("address", models.CharField(blank=True, help_text="Where it was seen last.", max_length=45)),
                ("since", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sign_in", to="sessions.session"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_ins",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "sign-in",
                "indexes": [models.Index(fields=["user", "-last_seen"], name="sign_in_of_user")],
            },
        ),
    ]

"""What sessions were told and what came of it; receipts of start contexts; questions that found nothing."""

import django.db.models.deletion
import django.utils.timezone
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Five tables, all empty at first: nothing is read or rewritten."""

    dependencies = [
        ("knowledge", "0010_people"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Gap",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        help_text="The question, or the words of it, that two people used.",
                        max_length=300,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("answered", "Answered"), ("dismissed", "Dismissed")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Proof",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="proof",
                        serialize=False,
                        to="knowledge.companyentry",
                    ),
                ),
                ("served", models.PositiveIntegerField(default=0, help_text="Sessions that were told it.")),
                (
                    "answered",
                    models.PositiveIntegerField(default=0, help_text="Those of them that said what they had used."),
                ),
                ("people", models.PositiveIntegerField(default=0, help_text="People whose sessions these were.")),
                ("cited", models.PositiveIntegerField(default=0)),
                ("misled", models.PositiveIntegerField(default=0)),
                ("last_cited_at", models.DateTimeField(blank=True, null=True)),
                ("tallied_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="receipt",
                        serialize=False,
                        to="knowledge.session",
                    ),
                ),
                ("tokens", models.PositiveIntegerField()),
                (
                    "told",
                    models.PositiveIntegerField(
                        help_text="How many company entries, facts and ended sessions it told."
                    ),
                ),
                ("lines", models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="Serving",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(help_text="Kind of what was told.", max_length=20)),
                ("source_id", models.CharField(help_text="Id of what was told.", max_length=36)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "answered",
                    models.BooleanField(
                        default=False, help_text="Whether the session said at its end what it had used."
                    ),
                ),
                ("cited", models.BooleanField(default=False)),
                ("misled", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="UnansweredQuestion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=300)),
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the question without capitals and punctuation.", max_length=64
                    ),
                ),
                ("times", models.PositiveIntegerField(default=1)),
                ("first_asked", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_asked", models.DateTimeField(default=django.utils.timezone.now)),
                ("vector", pgvector.django.halfvec.HalfVectorField(blank=True, null=True)),
            ],
        ),
        migrations.AddField(
            model_name="gap",
            name="settled_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="serving",
            name="session",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="servings", to="knowledge.session"
            ),
        ),
        migrations.AddField(
            model_name="serving",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="unansweredquestion",
            name="gap",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="questions", to="knowledge.gap"
            ),
        ),
        migrations.AddField(
            model_name="unansweredquestion",
            name="space",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="knowledge.embeddingspace",
            ),
        ),
        migrations.AddField(
            model_name="unansweredquestion",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="unanswered_questions",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="gap",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["open", "answered", "dismissed"])), name="gap_state_is_known"
            ),
        ),
        migrations.AddIndex(
            model_name="serving",
            index=models.Index(fields=["kind", "source_id"], name="serving_of_thing"),
        ),
        migrations.AddIndex(
            model_name="serving",
            index=models.Index(fields=["at"], name="serving_at"),
        ),
        migrations.AddIndex(
            model_name="serving",
            index=models.Index(fields=["user", "-at"], name="serving_of_user"),
        ),
        migrations.AddConstraint(
            model_name="serving",
            constraint=models.UniqueConstraint(
                fields=("session", "kind", "source_id"), name="serving_once_in_a_session"
            ),
        ),
        migrations.AddIndex(
            model_name="unansweredquestion",
            index=models.Index(fields=["digest"], name="question_digest"),
        ),
        migrations.AddIndex(
            model_name="unansweredquestion",
            index=models.Index(fields=["last_asked"], name="question_last_asked"),
        ),
        migrations.AddConstraint(
            model_name="unansweredquestion",
            constraint=models.UniqueConstraint(fields=("user", "digest"), name="question_once_by_each"),
        ),
    ]

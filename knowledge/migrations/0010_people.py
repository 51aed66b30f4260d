"""Let people show headlines, and be found by what they share."""

import django.db.models.deletion
from django.db import migrations, models

KINDS = ["fact", "chunk", "summary", "note", "hypothesis", "entry", "company", "person"]


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0009_lexemes_of_parts")]

    operations = [
        migrations.CreateModel(
            name="ShownHeadline",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="shown_headline",
                        serialize=False,
                        to="knowledge.session",
                    ),
                ),
                ("text", models.CharField(max_length=120)),
                ("chosen_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.RemoveConstraint(model_name="passage", name="passage_kind_is_known"),
        migrations.AlterField(
            model_name="passage",
            name="kind",
            field=models.CharField(choices=[(kind, kind.capitalize()) for kind in KINDS], max_length=20),
        ),
        migrations.AddConstraint(
            model_name="passage",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", KINDS)), name="passage_kind_is_known"),
        ),
    ]

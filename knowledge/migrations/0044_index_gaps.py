"""What the index lacked when it was checked last."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0043_proof_of_use")]

    operations = [
        migrations.CreateModel(
            name="IndexGap",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "gap",
                    models.CharField(
                        choices=[
                            ("passages", "things without passages"),
                            ("words", "passages without words"),
                            ("vectors", "passages without a vector, and not waiting for one"),
                            ("other_model", "vectors of another length than the model in use makes"),
                            ("orphans", "passages of things that are gone"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("fact", "Fact"),
                            ("chunk", "Chunk"),
                            ("summary", "Summary"),
                            ("note", "Note"),
                            ("hypothesis", "Hypothesis"),
                            ("entry", "Entry"),
                            ("company", "Company"),
                            ("reference", "Reference"),
                            ("person", "Person"),
                            ("app_table", "App Table"),
                            ("app_entity", "App Entity"),
                            ("app_workflow", "App Workflow"),
                        ],
                        max_length=20,
                    ),
                ),
                ("count", models.PositiveBigIntegerField()),
                ("checked_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("gap", "kind"), name="index_gap_once")],
            },
        ),
    ]

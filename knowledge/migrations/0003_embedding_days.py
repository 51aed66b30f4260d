from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("knowledge", "0002_entries_and_vectors"),
    ]

    operations = [
        migrations.CreateModel(
            name="EmbeddingDay",
            fields=[
                ("day", models.DateField(help_text="In UTC.", primary_key=True, serialize=False)),
                ("tokens", models.BigIntegerField(help_text="Tokens sent to an endpoint that bills for them.")),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("tokens__gte", 0)), name="embedding_day_not_negative"),
                ],
            },
        ),
    ]

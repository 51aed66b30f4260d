import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0006_fingerprints")]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="similar_to",
            field=models.ForeignKey(
                blank=True,
                help_text="An older one that says nearly this.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="knowledge.entry",
            ),
        ),
        migrations.AddField(
            model_name="fact",
            name="similar_to",
            field=models.ForeignKey(
                blank=True,
                help_text="An older one that says nearly this.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="knowledge.fact",
            ),
        ),
    ]

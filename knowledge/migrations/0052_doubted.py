"""In how many sessions something was withheld when its lot was drawn, and what looks harmful."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0051_anchors_of_facts_and_entries")]

    operations = [
        migrations.AddField(
            "holdoutdraw",
            "percent",
            models.PositiveSmallIntegerField(
                db_default=0, help_text="In how many of 100 sessions it was withheld then; 0: that was not kept."
            ),
        ),
        migrations.AddField(
            "proof",
            "doubted",
            models.BooleanField(
                db_default=False,
                help_text="Whether they went worse so far: it is withheld more often, to find out soon.",
            ),
        ),
    ]

"""What agents did is no longer kept, only that a trigger fired at it."""

from django.db import migrations, models

ISOLATE = """
ALTER TABLE knowledge_act ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY seen_by_its_owner ON knowledge_act USING (coalesce(user_id = (SELECT bigmind_sees()), true));
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0074_firings_counted_or_not")]

    operations = [
        migrations.RemoveConstraint("capturepolicy", "capture_acts_are_known"),
        migrations.AlterField(
            "capturepolicy",
            "acts",
            models.CharField(
                choices=[("off", "Count nothing"), ("counted", "Count how often they fire")],
                db_default="counted",
                default="counted",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            "capturepolicy",
            models.CheckConstraint(condition=models.Q(acts__in=["off", "counted"]), name="capture_acts_are_known"),
        ),
        migrations.AlterField(
            "firing",
            "told_id",
            models.CharField(
                help_text="By it the same act counts once, however often it is told.", max_length=60
            ),
        ),
        migrations.RemoveField("firing", "act"),
        # Taken back after the table is made again.
        migrations.RunSQL(migrations.RunSQL.noop, ISOLATE),
        migrations.DeleteModel("Act"),
    ]

"""A step of the history may be a check of the code that an entry rests on."""

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models

BEFORE = [
    *("propose", "revise", "withdraw", "endorse", "approve", "reject", "request_changes", "merge", "edit", "verify"),
    *("deprecate", "supersede", "restore", "reopen", "assign", "keep", "undo"),
]
CHOICES = [(action, action.replace("_", " ").title()) for action in [*BEFORE, "check"]]


class Migration(migrations.Migration):
    # The reviews are read through once to validate, and without a lock that holds up who writes them.
    atomic = False
    dependencies = [("curation", "0011_weekly_letter")]

    operations = [
        migrations.AlterField("review", "action", models.CharField(choices=CHOICES, max_length=20)),
        migrations.RemoveConstraint("review", "review_action_is_known"),
        AddConstraintNotValid(
            "review",
            models.CheckConstraint(
                condition=models.Q(("action__in", [*BEFORE, "check"])), name="review_action_is_known"
            ),
        ),
        ValidateConstraint("review", "review_action_is_known"),
    ]

"""App maps: what is known of outside apps, shared by everybody, so that nobody finds it out twice (seed 000)."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.models import Agent, User
from bigmind.text.hygiene import fold_name

from .injection_signs import SharedKnowledge

NAME_CHARS = 200
ID_CHARS = 300
SERVER_CHARS = 500


class Named(models.Model):
    """What is looked up by a name, whatever its case and spacing. Anyone who renames it sets `look_up` as well."""

    name = models.CharField(max_length=NAME_CHARS)
    look_up = models.CharField(max_length=NAME_CHARS, editable=False, help_text="The name without case and spacing.")
    last_seen = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def rename(self, name: str) -> None:
        """Give it a name, and what that is looked up by."""
        self.name, self.look_up = name, fold_name(name)


class App(SharedKnowledge, Named):
    """One app of an outside system."""

    app_id = models.CharField(max_length=ID_CHARS, blank=True)
    aliases = ArrayField(models.CharField(max_length=NAME_CHARS), default=list, blank=True)
    connector = models.CharField(max_length=50, blank=True, help_text="Who can read it; empty: only agents can.")
    server = models.CharField(
        max_length=SERVER_CHARS,
        blank=True,
        default="",
        db_default="",
        help_text="Address its ids belong to; empty: not known. Never called.",
    )
    file = models.CharField(max_length=NAME_CHARS, help_text="Its file in an exported folder, without an ending.")
    version = models.PositiveIntegerField(default=1, help_text="Counts the changes of its map.")
    bootstrapped_at = models.DateTimeField(null=True, blank=True)
    reported_gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "app map"
        constraints = [
            models.UniqueConstraint(fields=["look_up"], name="app_once_per_name"),
            models.UniqueConstraint(fields=["file"], name="app_once_per_file"),
            models.UniqueConstraint(fields=["app_id"], name="app_once_per_id", condition=~models.Q(app_id="")),
            models.CheckConstraint(condition=~models.Q(look_up=""), name="app_has_a_name"),
        ]

    @property
    def names(self) -> set[str]:
        """All it is looked up by."""
        return {self.look_up, *(fold_name(alias) for alias in self.aliases)}


class AppTable(SharedKnowledge, Named):
    """One table of an app. `fields` keeps their order: a list of objects with `name`, `type` and what else is known."""

    app = models.ForeignKey(App, models.CASCADE, related_name="tables")
    table_id = models.CharField(max_length=ID_CHARS, blank=True)
    fields = models.JSONField(default=list, blank=True)
    gone_fields = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text="Fields it had, with the one that may have taken the place of each.",
    )
    reported_gone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["app", "look_up"], name="app_table_once_per_name"),
            models.UniqueConstraint(
                fields=["app", "table_id"], name="app_table_once_per_id", condition=~models.Q(table_id="")
            ),
            models.CheckConstraint(condition=~models.Q(look_up=""), name="app_table_has_a_name"),
        ]

    @property
    def primary(self) -> str:
        """The name of the field its rows are called by; empty when it is not known."""
        return next((str(field["name"]) for field in self.fields if field.get("primary")), "")


class AppEntity(SharedKnowledge, Named):
    """One row of a table that someone asked for by name: where it is, and by what it is found when it has moved."""

    table = models.ForeignKey(AppTable, models.CASCADE, related_name="entities")
    row_id = models.CharField(max_length=ID_CHARS, blank=True)
    match_field = models.CharField(max_length=NAME_CHARS, blank=True)
    match_value = models.CharField(max_length=500, blank=True)

    class Meta:
        verbose_name_plural = "app entities"
        constraints = [
            models.UniqueConstraint(fields=["table", "look_up"], name="app_entity_once_per_name"),
            models.CheckConstraint(condition=~models.Q(look_up=""), name="app_entity_has_a_name"),
        ]
        indexes = [
            models.Index(fields=["look_up"], name="app_entity_name"),
            models.Index(fields=["table", "-last_seen"], name="app_entity_seen"),
        ]


class AppWorkflow(SharedKnowledge, Named):
    """One thing people ask for, and how it is done."""

    app = models.ForeignKey(App, models.CASCADE, related_name="workflows")
    table = models.ForeignKey(AppTable, models.CASCADE, null=True, blank=True, related_name="workflows")
    trigger = models.CharField(max_length=500, blank=True)
    steps = models.TextField(blank=True)
    field = models.CharField(max_length=NAME_CHARS, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "table", "look_up"], name="app_workflow_once_per_name", nulls_distinct=False
            ),
            models.CheckConstraint(condition=~models.Q(look_up=""), name="app_workflow_has_a_name"),
        ]


class AmbiguousName(Named):
    """A name that stands in several places, and the one that someone chose once for all."""

    found_in = models.ManyToManyField(App, related_name="+")
    default_app = models.ForeignKey(App, models.SET_NULL, null=True, blank=True, related_name="+")
    default_table = models.ForeignKey(AppTable, models.SET_NULL, null=True, blank=True, related_name="+")
    chosen_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    chosen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["look_up"], name="ambiguous_name_once")]


class Failure(models.TextChoices):
    """What someone found wrong with a map."""

    ROW_GONE = "row_gone"
    SCHEMA_CHANGED = "schema_changed"
    TABLE_GONE = "table_gone"
    APP_GONE = "app_gone"


class Healed(models.TextChoices):
    """What became of it."""

    FOUND = "found", "found again"
    UNCHANGED = "unchanged", "nothing was wrong"
    FORGOTTEN = "forgotten"
    REPORTED = "reported", "reported, waits for a curator"


class Healing(models.Model):
    """One entry of the history of a map: what failed, what was found, and by whom. It is never changed."""

    # The history outlives the app.
    app = models.ForeignKey(App, models.SET_NULL, null=True, related_name="healings")
    app_name = models.CharField(max_length=NAME_CHARS)
    subject = models.CharField(max_length=2 * NAME_CHARS + 3, help_text="The table or entity it is about.", blank=True)
    failure = models.CharField(max_length=20, choices=Failure)
    outcome = models.CharField(max_length=20, choices=Healed)
    failed = models.CharField(max_length=ID_CHARS, blank=True, help_text="The id that led nowhere.")
    found = models.CharField(max_length=1_000, blank=True, help_text="What stands there instead.")
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    by_connector = models.CharField(max_length=50, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["app", "-at"], name="app_healing_of_app")]

    def __str__(self) -> str:
        return f"{self.app_name} {self.subject}: {self.get_failure_display()}, {self.get_outcome_display()}"


class RunState(models.TextChoices):
    """How far a run is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = (RunState.WAITING, RunState.RUNNING)


class AppRun(models.Model):
    """Reading an outside system in the background: the row is the queue, and what is left of it stands in `left`."""

    BOOTSTRAP: ClassVar[str] = "bootstrap"
    REBUILD: ClassVar[str] = "rebuild"

    purpose = models.CharField(max_length=10, choices=[(BOOTSTRAP, "bootstrap"), (REBUILD, "rebuild")])
    connector = models.CharField(max_length=50)
    app = models.ForeignKey(App, models.CASCADE, null=True, blank=True, related_name="runs")
    state = models.CharField(max_length=10, choices=RunState, default=RunState.WAITING)
    left = models.JSONField(null=True, blank=True)
    held_until = models.DateTimeField(null=True, blank=True, help_text="A worker is at it until then.")
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=1_000, blank=True)
    asked_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["connector", "app"],
                name="app_run_one_at_a_time",
                condition=models.Q(state__in=UNFINISHED),
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["-created_at"], name="app_run_newest")]

    def __str__(self) -> str:
        return f"{self.purpose} of {self.app or self.connector}, {self.state}"

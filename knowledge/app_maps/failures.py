"""Failures: what someone reports of a map that was wrong, what is told back, and the history of both."""

from dataclasses import dataclass, field
from typing import Any, Literal

from accounts.models import Agent, User
from bigmind.core.errors import Invalid
from knowledge.app_maps.connectors.contract import Connector
from knowledge.app_maps.resolving import MapLocation
from knowledge.models import App, Healed, Healing


@dataclass(frozen=True)
class Mended:
    """What became of a report. `next_step` says what to do now; `place` is where the thing is."""

    status: Literal["healed", "unchanged", "next_step", "choose", "forgotten", "reported"]
    next_step: str
    place: MapLocation | None = None
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    candidates: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """One report of a failure, with whoever made it and what they found. `is_check`: it is looked over unasked."""

    user: User | None
    agent: Agent | None
    may_clear: bool
    failure: str
    app: App
    connector: Connector | None
    outcome: str | None = None
    failed_id: str = ""
    found_id: str = ""
    fields: dict[str, dict[str, Any]] | None = None
    is_check: bool = False

    def note(self, outcome: Healed, *, subject: str = "", failed: str = "", found: str = "") -> None:
        """Write the history."""
        if self.is_check and outcome is Healed.UNCHANGED:
            return
        by_connector = self.app.connector if self.connector and self.outcome is None else ""
        Healing.objects.create(
            app=self.app if self.app.pk else None,
            app_name=self.app.name,
            subject=subject,
            failure=self.failure,
            outcome=outcome,
            failed=failed or self.failed_id,
            found=found[:1_000],
            user=self.user,
            agent=self.agent,
            by_connector=by_connector,
        )


WAITS_FOR_CURATOR = (
    "That the {what} is gone is noted, and everybody who asks for it is warned. A curator decides whether all that is "
    "known of it is forgotten: app_forget."
)


def require_argument(name: str, value: str | None) -> str:
    """Return an argument that this report cannot do without."""
    if value is None:
        raise Invalid.of(name, "is required here")
    return value


def note_change(app: App) -> None:
    """Let everybody who keeps the map know that it is another one now."""
    app.version += 1
    app.save(update_fields=["version"])

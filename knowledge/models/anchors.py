"""Anchored: what rests on code, and whether it still holds there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models


@dataclass(frozen=True)
class AnchorState:
    """An anchor, and what the last check of its repository found. Without a check, `verdict` is empty."""

    anchor: str
    verdict: str = ""
    reason: str = ""
    commit: str = ""
    """The commit that was checked last."""
    held_at: str = ""
    """The last commit at which it held."""
    moved_to: str = ""
    checked_at: str = ""


class Anchored(models.Model):
    """What may cite code: files, symbols, settings, dependencies, commands."""

    anchors = ArrayField(
        models.CharField(max_length=300),
        default=list,
        blank=True,
        db_default=[],
        help_text="The code it rests on: acme/shop#src/limits.py:RateLimiter.allow@3f2a1bc.",
    )
    anchor_checks = models.JSONField(
        default=dict,
        blank=True,
        db_default=models.Value({}, models.JSONField()),
        editable=False,
        help_text="What the last check of each anchor found. Only reports of `bigmind verify` write it.",
    )

    class Meta:
        abstract = True

    @property
    def freshness(self) -> str:
        """The label that the last checks make: stale if they found it false, due if doubtful, else none."""
        verdicts = {state.verdict for state in self.anchor_states}
        return "stale" if "false" in verdicts else "due" if "doubtful" in verdicts else ""

    @property
    def is_false_in_code(self) -> bool:
        """Whether a check found the code to be otherwise."""
        return self.freshness == "stale"

    @property
    def accepted_checks(self) -> dict[str, dict[str, str]]:
        """Its checks once someone has rewritten it: the code as it was checked last is what it rests on."""
        return {
            state.anchor: {"held_at": state.commit, "moved_to": state.moved_to}
            for state in self.anchor_states
            if state.commit
        }

    @property
    def anchor_states(self) -> list[AnchorState]:
        """Its anchors, each with what the last check found."""
        return [AnchorState(anchor, **_as_texts(self.anchor_checks.get(anchor, {}))) for anchor in self.anchors]


def _as_texts(check: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(check.get(name, "")) for name in AnchorState.__dataclass_fields__ if name != "anchor"}

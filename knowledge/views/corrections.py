"""Corrections of what everybody shares: how a form notices that someone was faster."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.utils.dateparse import parse_datetime

from bigmind.core.errors import Conflict, Invalid
from bigmind.web.differences import TextChange, compare_lines
from bigmind.web.forms import OperationForm


class StaleCorrection(Conflict):
    """Someone changed it while the form was open. `initial` is what the form would show of it now."""

    def __init__(self, message: str, initial: dict[str, Any]) -> None:
        super().__init__(message)
        self.initial = initial


class CorrectionForm(OperationForm):
    """Says something better. `seen` is the moment of the last change that the form was filled from."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    changes: Sequence[TextChange] | None = None
    """What saving would overwrite, where someone was faster. Sent once more, the form overwrites it knowingly."""

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused, and show what is stored now where that is why."""
        super().refuse(refusal)
        if isinstance(refusal, StaleCorrection):
            now, data = refusal.initial, {name: self.data.get(name) for name in self.data}
            pairs = {name: (_as_text(now[name]), _as_text(data.get(name))) for name in now if name != "seen"}
            self.changes = [
                TextChange(str(self[name].label), compare_lines(*pair))
                for name, pair in pairs.items()
                if pair[0] != pair[1]
            ]
            self.data = {**data, "seen": now["seen"]}


def was_seen(updated_at: datetime, seen: str) -> bool:
    """Whether a form was filled from what was changed last at this moment."""
    try:
        return parse_datetime(seen) == updated_at
    except ValueError:
        return False


def _as_text(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value or "")
    return text.replace("\r\n", "\n").strip()

"""The filters in the address of the queue, and its tabs."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.urls import reverse

from bigmind.core.operations import validate_arguments
from bigmind.web.forms import Question, choice, search_field
from curation.proposals.queue import QueueSummary, list_queue
from knowledge.models import CompanyCategory

WHY = {"proposed": "Proposed", "reported": "Reported", "due": "Due"}
RISKS = {"flagged": "Flagged", "clear": "Nothing flagged"}
AGES = {"1": "A day or more", "3": "3 days or more", "7": "A week or more", "30": "A month or more"}
ORDERS = {"oldest": "Oldest", "newest": "Newest"}


class QueueQuestion(Question):
    """Filters the queue. The reason (`why`) is chosen by tabs, and kept in a hidden field."""

    text = search_field("Search the queue")
    why = forms.CharField(required=False, widget=forms.HiddenInput)
    category = choice(CompanyCategory.choices, blank="Any", required=False)
    proposer = forms.CharField(required=False, label="Proposed by", help_text="A user name.")
    project = forms.CharField(required=False)
    risk = choice(RISKS.items(), blank="Any", required=False)
    older_than_days = choice(AGES.items(), blank="Any", required=False, label="Age")
    order = choice(ORDERS.items(), blank="Most important", required=False)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)

    @property
    def more(self) -> list[Any]:
        """The fields behind “More filters”."""
        return [self[name] for name in ("category", "proposer", "project", "risk", "older_than_days", "order")]

    @property
    def more_is_asked(self) -> bool:
        """Whether one of those fields is used, or invalid."""
        return any(field.name in self.asked or field.errors for field in self.more)

    @property
    def narrows(self) -> bool:
        """Whether a filter besides the tab is used."""
        return any(name not in {"why", "order", "offset"} for name in self.asked)

    @property
    def why_chosen(self) -> str:
        """The tab that is open."""
        why = self.asked.get("why", "")
        return why if why in WHY else "proposed"

    def filters(self) -> dict[str, Any]:
        """Return the filters and the order as arguments of `list_queue`.

        Raises:
            Invalid: a filter in the address is not valid.
        """
        return validate_arguments(list_queue, {name: value for name, value in self.asked.items() if name != "offset"})


@dataclass(frozen=True)
class Tab:
    """One reason to be in the queue, with the number of entries."""

    label: str
    address: str
    count: int
    is_current: bool


def tabs(question: QueueQuestion, summary: QueueSummary) -> list[Tab]:
    """Return a tab for each reason. Filters are not carried over from one tab to another."""
    counts = {"proposed": summary.proposed, "reported": summary.reported, "due": summary.due}
    start = reverse("curation")
    return [
        Tab(label, start if why == "proposed" else f"{start}?why={why}", counts[why], why == question.why_chosen)
        for why, label in WHY.items()
    ]


def query_string(request: HttpRequest) -> str:
    """Return the filters as a query string for the next page; an empty string if there are none."""
    asked = {name: request.GET.get(name, "").strip() for name in QueueQuestion.base_fields}
    used = {name: value for name, value in asked.items() if value}
    return f"?{urlencode(used)}" if used else ""

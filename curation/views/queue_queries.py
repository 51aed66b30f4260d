"""The question in the address of the queue: what waits, and which part of it."""

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
    """Narrows the queue. Why something waits is chosen by the tabs above it, and kept along."""

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
        """Whether one of those says something, or something wrong."""
        return any(field.name in self.asked or field.errors for field in self.more)

    @property
    def narrows(self) -> bool:
        """Whether anything but the tab narrows the queue."""
        return any(name not in {"why", "order", "offset"} for name in self.asked)

    @property
    def why_chosen(self) -> str:
        """The tab that is open."""
        said = self.asked.get("why", "")
        return said if said in WHY else "proposed"

    def filters(self) -> dict[str, Any]:
        """Return what narrows and orders the queue, as the service wants it.

        Raises:
            Invalid: the address asks for what cannot be.
        """
        return validate_arguments(list_queue, {name: value for name, value in self.asked.items() if name != "offset"})


@dataclass(frozen=True)
class Tab:
    """One reason to wait: how much waits for it."""

    label: str
    address: str
    count: int
    is_current: bool


def tabs(question: QueueQuestion, summary: QueueSummary) -> list[Tab]:
    """Return a link for each reason. Another reason is another question: filters are not carried over."""
    counts = {"proposed": summary.proposed, "reported": summary.reported, "due": summary.due}
    start = reverse("curation")
    return [
        Tab(label, start if why == "proposed" else f"{start}?why={why}", counts[why], why == question.why_chosen)
        for why, label in WHY.items()
    ]


def query_string(request: HttpRequest) -> str:
    """Return the filters as the end of an address, to carry them to the next page; nothing when there are none."""
    asked = {name: request.GET.get(name, "").strip() for name in QueueQuestion.base_fields}
    said = {name: value for name, value in asked.items() if value}
    return f"?{urlencode(said)}" if said else ""

"""Every list of the catalogue, made long in a moment: many rows at once, and ties among them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from django.db.models import Model
from django.utils import timezone

from accounts.models import Instance, User
from curation.models import GoldenQuestion
from knowledge.models import App, CompanyEntry, Entry, Fact, Hypothesis, Note, Reference, ReferenceCollection, Session

SPACE = UUID("7d4f7f4e-9b0a-4a53-9d3c-0f5f0a3c1b11")
PARENT = uuid5(SPACE, "parent")
BEGINNING = timezone.now() - timedelta(days=1)


@dataclass(frozen=True)
class LongList:
    """A list that can be as long as a test likes.

    Attributes:
        model: What it lists.
        row: Makes the row of a number, of somebody.
        told: The field by which a row is known in a reply.
        arguments: What the operation is asked besides.
    """

    model: type[Any]
    row: Callable[[User, int], Model]
    told: str
    arguments: tuple[tuple[str, Any], ...] = ()

    def add(self, owner: User, numbers: Iterable[int]) -> None:
        """Add rows by their numbers: larger ones are of later moments."""
        self.model.objects.bulk_create([self.row(owner, number) for number in numbers])

    def take_away(self, names: Sequence[str]) -> None:
        """Remove rows by what they are called in replies."""
        self.model.objects.filter(**{f"{self.told}__in": names}).delete()

    def names(self, items: Iterable[dict[str, Any]]) -> list[str]:
        """Return what the items of a reply are called."""
        return [str(item.get("entry", item)[self.told]) for item in items]


def moment(number: int) -> datetime:
    """The moment of a number, which two others share."""
    return BEGINNING + timedelta(seconds=number // 3)


def _fact(owner: User, number: int) -> Fact:
    text = f"Fact {number}."
    return Fact(user=owner, category="preference", fact=text, digest=text, created_at=moment(number))


def _session(owner: User, number: int) -> Session:
    began = moment(number)
    return Session(user=owner, started_at=began, ended_at=began, one_liner=f"Session {number}")


def _belief(owner: User, number: int) -> Hypothesis:
    return Hypothesis(user=owner, hypothesis=f"Belief {number}.", created_at=moment(number))


def _note(owner: User, number: int) -> Note:
    return Note(user=owner, domain=f"domain {number % 7}", key=f"Schlüssel {number}", content="A note.")


def _entry(owner: User, number: int) -> Entry:
    return Entry(content=f"Entry {number}.", digest=f"entry {number}", created_by=owner, confidence=number % 5 / 10)


def _child(owner: User, number: int) -> Entry:
    parent, _ = Entry.objects.get_or_create(pk=PARENT, defaults={"content": "All of them.", "digest": "parent"})
    tags = ["one", "two", "three"][: number % 3]
    return Entry(content=f"Child {number}.", digest=f"child {number}", parent=parent, tags=tags, created_by=owner)


def _proposal(owner: User, number: int) -> CompanyEntry:
    return CompanyEntry(
        category="standard",
        title=f"Rule {number}",
        content="Do it so.",
        digest=f"rule {number}",
        importance=number % 3 + 1,
        proposed_by=owner,
        created_at=moment(number),
    )


def _approved(owner: User, number: int) -> CompanyEntry:
    entry = _proposal(owner, number)
    # Who keeps old knowledge may not know when it was decided.
    entry.status, entry.decided_at = "approved", moment(number) if number % 5 else None
    return entry


def _anchored_entry(owner: User, number: int) -> CompanyEntry:
    entry = _approved(owner, number)
    entry.anchors = [f"a.py:f{number}"]
    return entry


def _golden_question(owner: User, number: int) -> GoldenQuestion:
    lost = moment(number) if number % 2 else None
    question = f"Question {number % 50}?"
    return GoldenQuestion(question=question, digest=f"{number}", kind="company", source_id="1", lost_since=lost)


def _command(owner: User, number: int) -> Reference:
    shelf, _ = ReferenceCollection.objects.get_or_create(slug=f"shelf-{number % 4}", defaults={"title": "A shelf"})
    name = f"helios {number % 50}"
    return Reference(collection=shelf, key=f"{name} {number}", name=name, title=f"{number}", kind="command", digest="-")


def _app(owner: User, number: int) -> App:
    return App(name=f"App {number}", look_up=f"app{number}", file=f"app-{number}", app_id=f"app_{number}")


def _person(owner: User, number: int) -> User:
    return User(username=f"{'Person' if number % 2 else 'person'}-{number}")


def _instance(owner: User, number: int) -> Instance:
    identity = uuid5(SPACE, f"instance {number}")
    return Instance(user=owner, identity=identity, name=f"laptop {number}", last_seen=moment(number))


LONG_LISTS: dict[str, tuple[LongList, ...]] = {
    "memory_list_facts": (LongList(Fact, _fact, "fact"),),
    "memory_list_sessions": (LongList(Session, _session, "id"),),
    "memory_list_hypotheses": (LongList(Hypothesis, _belief, "hypothesis"),),
    "knowledge_get": (LongList(Note, _note, "key"),),
    "kb_list": (
        LongList(Entry, _entry, "id"),
        LongList(Entry, _entry, "id", (("order_by", "confidence"), ("order", "asc"))),
    ),
    "kb_get_related": (LongList(Entry, _child, "id", (("entry_id", str(PARENT)),)),),
    "memory_list_global": (LongList(CompanyEntry, _approved, "id"),),
    "memory_list_my_proposals": (LongList(CompanyEntry, _proposal, "id"),),
    "memory_list_queue": (
        LongList(CompanyEntry, _proposal, "id"),
        LongList(CompanyEntry, _proposal, "id", (("order", "newest"),)),
    ),
    "anchors_list": (LongList(CompanyEntry, _anchored_entry, "title"),),
    "golden_list": (LongList(GoldenQuestion, _golden_question, "id"),),
    "list_commands": (LongList(Reference, _command, "key"),),
    "app_list": (LongList(App, _app, "app_id"),),
    "directory_list": (LongList(User, _person, "username"),),
    "directory_list_instances": (LongList(Instance, _instance, "identity"),),
}
"""By the operation that lists them."""

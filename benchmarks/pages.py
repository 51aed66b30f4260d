"""How many queries the longest pages take: one more for each row would be felt long before it is seen."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Agent, Role, Sharing, User
from benchmarks.rows import row
from bigmind.environment.profile_sections import ProfileSection
from bigmind.text.hygiene import digest
from knowledge.models import CompanyEntry, Session

WAITING = 10_000
PEOPLE, CLIENTS = 250, ("claude-code", "cursor", "codex", "gemini-cli")


def measure() -> list[str]:
    """Count the queries of the queue and of the directory with little in them, then with much."""
    curator = User.objects.create(username="curator", role=Role.CURATOR)
    client = Client(headers={"host": "localhost"})
    client.force_login(curator)
    client.get(reverse("memory"))  # The first visit of a sign-in is noted.
    propose(curator, range(10))
    _gather(range(10))
    few = {page: _queries(client, page) for page in ("curation", "directory")}
    propose(curator, range(10, WAITING))
    _gather(range(10, PEOPLE))
    many = {page: _queries(client, page) for page in ("curation", "directory")}
    return [
        _row(f"curation queue with {WAITING:,} waiting", few["curation"], many["curation"]),
        _row(f"directory with {PEOPLE * len(CLIENTS):,} agents", few["directory"], many["directory"]),
    ]


def propose(by: User, numbers: range) -> None:
    """Let so many proposals wait."""
    texts = [f"Service {number} retries three times." for number in numbers]
    CompanyEntry.objects.bulk_create(
        (
            CompanyEntry(
                category="pattern",
                title=f"Pattern {number}",
                content=text,
                digest=digest(text),
                importance=number % 10 + 1,
                proposed_by=by,
            )
            for number, text in zip(numbers, texts, strict=True)
        ),
        batch_size=1_000,
    )


def _gather(numbers: range) -> None:
    """People who share everything, with four agents each."""
    people = User.objects.bulk_create(User(username=f"person-{number}") for number in numbers)
    now = timezone.now()
    Agent.objects.bulk_create(
        Agent(user=person, client_name=name, host="laptop", last_seen=now) for person in people for name in CLIENTS
    )
    Sharing.objects.bulk_create(
        Sharing(user=person, sections=[str(one) for one in ProfileSection]) for person in people
    )
    Session.objects.bulk_create(Session(user=person, topics=["payments", "postgres"]) for person in people)


def _queries(client: Client, page: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(reverse(page)).status_code == 200
    return len(queries)


def _row(what: str, few: int, many: int) -> str:
    said = f"{few} with ten of them"
    return row(f"{what}: queries of a page", str(many), "≤ 15, constant", said, met=many <= 15 and many <= few)

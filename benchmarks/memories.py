"""People with memories of a given size."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from accounts.actor import Actor
from accounts.people.users import add_user
from bigmind.text.hygiene import digest
from knowledge.models import Category, Fact, Session

TEXTS = (
    "Deploys go through the router in stage and production, never by hand.",
    "The billing service retries a payment three times, then asks the on-call engineer.",
    "Prefers small pull requests with tests, and reviews before noon.",
    "Uses uv for Python package management and ruff for formatting.",
)


def remember_much(username: str, *, facts: int, sessions: int) -> Actor:
    """Make a person with so many facts and ended sessions."""
    user, now = add_user(username), timezone.now()
    Fact.objects.bulk_create(
        [
            Fact(
                user=user,
                category=Category.values[number % len(Category.values)],
                fact=f"{TEXTS[number % len(TEXTS)]} ({number})",
                digest=digest(str(number)),
                project="pi" if number % 7 == 0 else "",
                created_at=now - timedelta(minutes=number),
            )
            for number in range(facts)
        ],
        batch_size=1000,
    )
    Session.objects.bulk_create(
        [
            Session(
                user=user,
                started_at=now - timedelta(hours=number + 1),
                ended_at=now - timedelta(hours=number),
                one_liner=TEXTS[number % len(TEXTS)],
                topics=["deploys", "billing"],
                outcome=TEXTS[(number + 1) % len(TEXTS)],
            )
            for number in range(sessions)
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return Actor.of(user)

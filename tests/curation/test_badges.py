"""Badges: each has its rule in words and the day on which it was earned."""

from datetime import UTC, datetime, timedelta

import pytest

from accounts.actor import Actor
from curation.models import Action, Review
from curation.services.profile_pages import badges_of
from knowledge.models import Fact, Session
from tests.curation.factories import approved_entry, propose
from tests.factories import make_actor

pytestmark = pytest.mark.django_db

FIRST = datetime(2026, 3, 2, 12, tzinfo=UTC)


def sessions_on(actor: Actor, *days: int) -> None:
    Session.objects.bulk_create(Session(user=actor.user, started_at=FIRST + timedelta(days=day)) for day in days)


def earned(actor: Actor) -> dict[str, str]:
    return {badge.name: badge.earned_on.isoformat() for badge in badges_of(actor.user)}


def test_the_first_session_earns_one_on_its_day(actor):
    sessions_on(actor, 3, 0)

    assert earned(actor) == {"First session": "2026-03-02"}


def test_the_hundredth_fact_earns_one(actor):
    Fact.objects.bulk_create(
        Fact(user=actor.user, category="decision", fact=f"Fact {number}", digest=str(number)) for number in range(100)
    )
    Fact.objects.filter(user=actor.user).update(created_at=FIRST)

    assert earned(actor) == {"Hundred facts": "2026-03-02"}
    Fact.objects.filter(user=actor.user).first().delete()  # type: ignore[union-attr]
    assert earned(actor) == {}


def test_a_streak_is_earned_on_its_last_day_and_a_gap_breaks_it() -> None:
    actor, lazy = make_actor(), make_actor()

    sessions_on(actor, *range(31), *range(31))
    sessions_on(lazy, *range(6), *range(7, 12))

    assert earned(actor)["Thirty days"] == "2026-03-31"
    assert earned(actor)["Seven days"] == "2026-03-08"
    assert "Seven days" not in earned(lazy)


def test_the_tenth_approved_contribution_earns_one(settings: object) -> None:
    settings.BIGMIND_MODE = "team"  # type: ignore[attr-defined]
    actor = make_actor()
    for _ in range(9):
        approved_entry(actor)
    propose(actor)
    before = earned(actor)

    approved_entry(actor)

    assert set(before) == {"First contribution"}
    assert set(earned(actor)) == {"First contribution", "Ten contributions"}


def test_fifty_decisions_earn_one_and_proposals_are_no_decisions() -> None:
    curator, entry = make_actor(curator=True), propose()
    kept = {"by": curator.user, "by_id_kept": curator.user.pk, "by_name": "x", "after": {}, "entry": entry}
    actions = [Action.REJECT] * 49 + [Action.PROPOSE] * 10

    Review.objects.bulk_create(
        Review(**kept, number=100 + number, action=action, created_at=FIRST) for number, action in enumerate(actions)
    )
    before = earned(curator)
    Review.objects.create(**kept, number=99, action=Action.APPROVE, created_at=FIRST + timedelta(days=1))

    assert before == {}
    assert earned(curator) == {"Curator of fifty": "2026-03-03"}
    assert all(badge.rule.endswith(".") for badge in badges_of(curator.user))

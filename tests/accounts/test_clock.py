"""A clock that jumps hours ahead or back: nobody is locked out for good by it, and nothing lasts longer."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Call, SignInTry
from accounts.services.audit import audit
from accounts.services.rate_limits import count_in, this_minute
from accounts.sign_in.attempts import TRIES, count_try
from accounts.sign_in.second_factors import check_code
from bigmind.core.errors import Invalid, TooMany
from bigmind.file_cache import FileCache
from curation.models import Claim
from curation.proposals.claims import claim_entry
from knowledge.app_maps import runs
from knowledge.models import AppRun, RunState
from tests.accounts.codes import code_of, with_second_factor
from tests.curation.factories import propose
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db
HOURS = 5 * 60 * 60

SetClock = Callable[[float], None]
"""Lets the clock of this process go ahead of the true one by so many seconds."""


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    true_time, true_now = time.time, timezone.now

    def ahead(seconds: float) -> None:
        def now() -> datetime:
            return true_now() + timedelta(seconds=seconds)

        monkeypatch.setattr("time.time", lambda: true_time() + seconds)
        monkeypatch.setattr("django.utils.timezone.now", now)

    return ahead


def test_whoever_signed_in_while_the_clock_ran_ahead_gets_in_when_it_is_right_again(set_clock: SetClock) -> None:
    user = make_user()
    enrolment, _ = with_second_factor(user)
    used = code_of(enrolment.secret)
    check_code(user, used)
    set_clock(HOURS)
    check_code(user, code_of(enrolment.secret))

    set_clock(0)

    check_code(user, code_of(enrolment.secret, later=1))
    for again in (used, code_of(enrolment.secret, later=1)):
        with pytest.raises(Invalid):
            check_code(user, again)


def test_wrong_tries_while_the_clock_ran_ahead_lock_nobody_out_when_it_is_right_again(set_clock: SetClock) -> None:
    set_clock(HOURS)
    for _ in range(TRIES):
        count_try("dana", "192.0.2.7")
    with pytest.raises(TooMany):
        count_try("dana", "192.0.2.7")

    set_clock(0)

    count_try("dana", "192.0.2.7")
    assert SignInTry.objects.count() == TRIES + 1


def test_a_lockout_ends_when_the_clock_is_set_forward_and_a_new_one_holds(set_clock: SetClock) -> None:
    for _ in range(TRIES):
        count_try("dana", "192.0.2.7")

    set_clock(HOURS)

    for _ in range(TRIES):
        count_try("dana", "192.0.2.7")
    with pytest.raises(TooMany):
        count_try("dana", "192.0.2.7")


@pytest.mark.parametrize("jump", [-HOURS, HOURS])
def test_a_first_step_of_signing_in_lasts_no_longer_by_a_jump(set_clock: SetClock, client: Client, jump: int) -> None:
    user = make_user(password="correct horse battery")
    enrolment, _ = with_second_factor(user)
    client.post(reverse("sign-in"), {"username": user.username, "password": "correct horse battery"})
    assert client.get(reverse("sign-in-code")).status_code == 200

    set_clock(jump)

    answer = client.post(reverse("sign-in-code"), {"code": code_of(enrolment.secret)})
    assert answer.status_code == 302
    assert answer["Location"] == reverse("sign-in")


def test_a_reservation_of_an_entry_ends_when_the_clock_is_set_back(set_clock: SetClock) -> None:
    entry = propose()
    claim_entry(make_actor(curator=True), entry_id=entry.pk)

    set_clock(-HOURS)

    assert not Claim.objects.get().is_current


def test_work_that_a_dead_worker_held_is_taken_up_when_the_clock_is_set_back(set_clock: SetClock) -> None:
    run = AppRun.objects.create(
        purpose=AppRun.BOOTSTRAP,
        connector="budibase",
        state=RunState.RUNNING,
        held_until=timezone.now() + runs.LEASE,
    )
    assert runs._claim() is None

    set_clock(-HOURS)

    assert runs._claim() == run


def test_what_the_file_cache_kept_for_a_minute_is_not_kept_for_hours(set_clock: SetClock, tmp_path: Path) -> None:
    file = FileCache(str(tmp_path / "cache"), {})
    file.set("open", True, timeout=60)
    file.set("count", 3, timeout=60)

    set_clock(-HOURS)

    assert file.get("open") is None
    with pytest.raises(ValueError, match="count"):
        file.incr("count")
    assert file.add("open", 2, timeout=60)
    assert file.get("open") == 2


@pytest.mark.parametrize("jump", [-HOURS, HOURS])
def test_a_jump_gives_a_new_minute_and_keeps_its_limit(set_clock, monkeypatch, jump):
    cache.clear()
    true_time = time.time
    for _ in range(5):
        place, _ = this_minute("jump")
        count_in(place)

    monkeypatch.setattr("accounts.services.rate_limits.time", lambda: true_time() + jump)

    place, left = this_minute("jump")
    assert (count_in(place), count_in(place)) == (1, 2)
    assert 0 < left <= 60


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_was_set_back_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    audit("signed_in", about=make_user())
    assert client.get("/readyz").json()["checks"]["clock"] == {"ok": True}

    monkeypatch.setattr("bigmind.observability.health.time", lambda: time.time() - HOURS)
    told = client.get("/readyz")

    assert told.status_code == 200
    assert "away from the database’s" in told.json()["checks"]["clock"]["trouble"].replace("'", "’")


@pytest.mark.django_db(transaction=True)
def test_records_of_the_future_are_told(client: Client, set_clock: SetClock) -> None:
    set_clock(HOURS)
    Call.objects.create(user=make_user(), operation="memory_recall", outcome="ok", milliseconds=1)
    set_clock(0)

    told = client.get("/readyz").json()["checks"]["clock"]

    assert "behind what was recorded already" in told["trouble"]

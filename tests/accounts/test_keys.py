"""Keys: shown once, found by one look-up, rotated with overlap, ended at once; nothing stored ever changes (T10)."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from accounts.authentication import BadKey, authenticate_key
from accounts.keys import create_key, digest_of, find_key, new_key_text, revoke_key, rotate_key
from accounts.models import ApiKey, Role, User
from accounts.services.key_cache import KNOWN_KEYS
from bigmind.core.errors import Conflict, Invalid, NotFound
from knowledge.context.sessions import start_session
from knowledge.memory.facts import store_fact
from knowledge.transfer.program_formats import export_memory
from tests.commands import run
from tests.factories import make_actor, make_key, make_user

pytestmark = pytest.mark.django_db


def test_the_key_is_printed_alone_and_only_its_hash_is_kept() -> None:
    make_user("eric")

    text = run("key_create", "eric", "--label", "laptop").strip()

    key = ApiKey.objects.get()
    assert authenticate_key(text).key == key
    assert key.digest == digest_of(text)
    assert text not in str(ApiKey.objects.values())


def test_a_script_gets_the_key_as_json() -> None:
    make_user("eric")

    made = json.loads(
        run("key_create", "eric", "--scopes", "read", "--toolsets", "core, notes", "--expires-days", "30", "--json")
    )

    actor = authenticate_key(made["key"])
    assert (sorted(actor.scopes), sorted(actor.toolsets)) == (["read"], ["core", "notes"])
    assert timedelta(days=29) < ApiKey.objects.get().expires_at - timezone.now() <= timedelta(days=30)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("option", "code"),
    [
        (("--scopes", "everything"), 1),
        (("--scopes", ""), 1),
        (("--toolsets", "cores"), 2),
        (("--expires-days", "0"), 2),
        (("--expires-days", "99999999999"), 2),
    ],
)
def test_a_key_that_would_make_no_sense_is_refused(option: tuple[str, str], code: int) -> None:
    make_user("eric")

    with pytest.raises(CommandError) as refusal:
        run("key_create", "eric", *option)

    assert refusal.value.returncode == code
    assert not ApiKey.objects.exists()


def test_the_list_shows_whose_what_for_and_when_used_and_never_the_key() -> None:
    key = make_key(make_user("eric"), label="laptop")
    make_key(make_user("eve"))
    authenticate_key(key.text, client_name="curl", client_version="8.1", host="atlas")

    (row,) = json.loads(run("key_list", "--user", "eric", "--json"))
    table = run("key_list")

    assert (row["label"], row["scopes"], row["state"]) == ("laptop", ["read", "write"], "active")
    assert row["last_used_by"] == "curl 8.1 on atlas"
    assert key.text not in table
    assert table.count("\n") == 3


def test_while_a_key_is_rotated_both_work_and_then_only_the_new_one() -> None:
    key = make_key(label="laptop", scopes=["read"], toolsets=["core"])

    new = json.loads(run("key_rotate", key.key.prefix, "--overlap-hours", "2", "--json"))

    old, successor = authenticate_key(key.text), authenticate_key(new["key"])
    assert (old.user, old.scopes, old.toolsets) == (successor.user, successor.scopes, successor.toolsets)
    assert (new["label"], authenticate_key(key.text).key.state) == ("laptop", "ending")  # type: ignore[union-attr]

    ApiKey.objects.filter(pk=key.key.pk).update(revoked_at=timezone.now())

    with pytest.raises(BadKey, match="revoked"):
        authenticate_key(key.text)
    assert authenticate_key(new["key"]).user == key.key.user


def test_without_an_overlap_the_old_key_ends_at_once() -> None:
    key = make_key()

    run("key_rotate", str(key.key.pk), "--overlap-hours", "0")

    with pytest.raises(BadKey, match="revoked"):
        authenticate_key(key.text)


@pytest.mark.parametrize("hours", ["-1", "nan", "1e9"])
def test_an_overlap_that_makes_no_sense_is_refused(hours: str) -> None:
    key = make_key()

    with pytest.raises(CommandError, match="--overlap-hours"):
        run("key_rotate", key.key.prefix, f"--overlap-hours={hours}")


@pytest.mark.parametrize("end", ["revoked", "rotated", "expired"])
def test_a_key_that_has_ended_cannot_be_rotated(end: str) -> None:
    key = make_key().key
    if end == "revoked":
        revoke_key(key)
    elif end == "rotated":
        rotate_key(key)
    else:
        key.expires_at = timezone.now() - timedelta(seconds=1)
        key.save()

    with pytest.raises(Conflict):
        rotate_key(key)


def test_a_revoked_key_is_refused_at_once_and_revoking_twice_changes_nothing() -> None:
    key = make_key()

    run("key_revoke", key.key.prefix)
    ended = ApiKey.objects.get().revoked_at
    run("key_revoke", key.key.prefix)

    with pytest.raises(BadKey, match="revoked"):
        authenticate_key(key.text)
    assert ApiKey.objects.get().revoked_at == ended


def test_an_expired_key_is_refused() -> None:
    key = make_key(expires_at=timezone.now() + timedelta(days=1))
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    with pytest.raises(BadKey, match="expired"):
        authenticate_key(key.text)


def test_a_key_that_would_be_expired_from_the_start_is_refused() -> None:
    with pytest.raises(Invalid, match="ahead"):
        create_key(make_user(), expires_at=timezone.now())


def test_a_key_of_somebody_who_was_switched_off_opens_nothing() -> None:
    key = make_key()
    user = key.key.user
    assert user is not None
    user.is_active = False
    user.save()

    with pytest.raises(BadKey, match="no active user"):
        authenticate_key(key.text)


def test_a_mistyped_or_foreign_key_does_not_find_one_that_begins_like_it() -> None:
    key, foreign = make_key().key, new_key_text()
    key.prefix = foreign[:8]
    key.save()

    for other in (foreign, f"{foreign[:-1]}!", foreign[:9], foreign[:7]):
        with pytest.raises(NotFound, match="No key begins"):
            find_key(other)
    assert find_key(foreign[:8]) == key


def test_a_key_that_expires_within_its_overlap_is_expired() -> None:
    key = make_key(expires_at=timezone.now() + timedelta(hours=1))
    rotate_key(key.key)
    ApiKey.objects.filter(pk=key.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    assert ApiKey.objects.get(pk=key.key.pk).state == "expired"
    with pytest.raises(BadKey, match="expired"):
        authenticate_key(key.text)


def test_after_many_rotations_what_was_stored_is_the_same() -> None:
    actor = make_actor(scopes=["read", "write"])
    start_session(actor, project="billing")
    store_fact(actor, category="identity", fact="Is called Ada.")
    before = export_memory(actor).model_dump(exclude={"exported_at"})
    assert actor.key is not None

    new = rotate_key(actor.key)
    for _ in range(11):
        new = rotate_key(new.key)

    after = authenticate_key(new.text)
    assert after.user == actor.user
    assert export_memory(after).model_dump(exclude={"exported_at"}) == before


def test_a_key_is_found_by_one_look_up_among_many(django_assert_num_queries: Any) -> None:
    user = make_user()
    rows = (ApiKey(user=user, prefix="bm_x", digest=f"{number:064}", scopes=["read"]) for number in range(2000))
    ApiKey.objects.bulk_create(rows)
    key = make_key(user)
    authenticate_key(key.text)

    with django_assert_num_queries(1):
        authenticate_key(key.text)


@pytest.mark.parametrize("limit", [0, -1, 1_000_001])
def test_a_limit_that_lets_nothing_through_or_everything_is_refused(limit):
    with pytest.raises(Invalid, match="per_minute must be 1 to 1,000,000"):
        create_key(make_user(), per_minute=limit)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Keep looked-up keys, by a clock that this list sets, in a process to which the database tells nothing."""
    clock = [1000.0]
    for module in ("accounts.services.key_cache", "accounts.keys"):
        monkeypatch.setattr(f"{module}.monotonic", lambda: clock[0])
    with KNOWN_KEYS.remember():
        yield clock


def test_where_no_change_is_told_a_revoked_key_is_refused_after_half_a_second(now: list[float]) -> None:
    key = make_key()
    authenticate_key(key.text)  # Noting the use forgets the key, so the next call is the first that keeps it.
    authenticate_key(key.text)
    ApiKey.objects.filter(pk=key.key.pk).update(revoked_at=timezone.now())

    now[0] += 0.49
    authenticate_key(key.text)  # That it is used does not keep it for longer.
    now[0] += 0.01

    with pytest.raises(BadKey, match="revoked"):
        authenticate_key(key.text)


def test_where_no_change_is_told_a_role_that_was_taken_away_is_gone_after_half_a_second(now: list[float]) -> None:
    key = make_key(make_user(role=Role.CURATOR))
    authenticate_key(key.text)
    before = authenticate_key(key.text).user.role
    User.objects.filter(pk=key.key.user_id).update(role=Role.MEMBER)

    now[0] += 0.5

    assert (before, authenticate_key(key.text).user.role) == (Role.CURATOR, Role.MEMBER)


def test_a_key_is_read_for_half_a_second_without_the_database(now: list[float], django_assert_num_queries: Any) -> None:
    key = make_key()
    authenticate_key(key.text)
    authenticate_key(key.text)

    with django_assert_num_queries(0):
        authenticate_key(key.text)
    KNOWN_KEYS.forget()
    with django_assert_num_queries(1):
        authenticate_key(key.text)


def test_a_row_that_was_read_before_something_changed_is_not_kept(now: list[float]) -> None:
    read_before = KNOWN_KEYS.changes
    KNOWN_KEYS.forget()

    KNOWN_KEYS.keep("a digest", ["a row"], read_at=now[0], changes=read_before)
    not_kept = KNOWN_KEYS.find("a digest")
    KNOWN_KEYS.keep("a digest", ["a row"], read_at=now[0], changes=KNOWN_KEYS.changes)

    assert not_kept is None
    assert KNOWN_KEYS.find("a digest") == ["a row"]


def test_a_key_that_is_revoked_while_it_is_looked_up_is_not_kept(now, monkeypatch):
    key = make_key()
    keep = KNOWN_KEYS.keep

    def keep_late(digest: str, row: Any, **read: Any) -> None:
        ApiKey.objects.filter(pk=key.key.pk).update(revoked_at=timezone.now())
        KNOWN_KEYS.forget()
        keep(digest, row, **read)

    authenticate_key(key.text)
    monkeypatch.setattr(KNOWN_KEYS, "keep", keep_late)
    authenticate_key(key.text)
    monkeypatch.setattr(KNOWN_KEYS, "keep", keep)

    with pytest.raises(BadKey, match="revoked"):
        authenticate_key(key.text)

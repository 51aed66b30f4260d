"""Long tables are read in batches: no statement brings more rows than one of them has."""

from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from accounts.services.audit import audit, find_broken_events
from bigmind.database.batches import in_batches
from bigmind.privacy.scrub.matching import needles_of
from bigmind.privacy.scrub.rows import find_places
from tests.factories import make_user

pytestmark = pytest.mark.django_db


class MostRows:
    """Notes how many rows the largest answer had."""

    def __init__(self) -> None:
        self.most = 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        done = execute(sql, params, many, context)
        self.most = max(self.most, context["cursor"].rowcount)
        return done


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
def test_every_row_comes_once_in_the_order_of_its_key(count: int) -> None:
    users = [make_user() for _ in range(count)]
    read = MostRows()

    with connection.execute_wrapper(read):
        batches = list(in_batches(User.objects.values_list("pk", "username"), 2))

    assert [row for batch in batches for row in batch] == sorted((user.pk, user.username) for user in users)
    assert read.most <= 2


def test_a_text_is_looked_for_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigmind.privacy.scrub.rows.READ_AT_ONCE", 2)
    users = [make_user(display_name="The orange lighthouse") for _ in range(5)]
    read = MostRows()

    with connection.execute_wrapper(read):
        found = list(find_places(needles_of("orange lighthouse"), whose=None))

    assert {place.pk for place in found if place.model is User} == {user.pk for user in users}
    assert read.most <= 2


def test_the_audit_log_is_checked_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.services.audit.READ_AT_ONCE", 2)
    for _ in range(5):
        audit("signed_in")
    read = MostRows()

    with connection.execute_wrapper(read):
        broken = list(find_broken_events())

    assert broken == []
    assert read.most <= 2

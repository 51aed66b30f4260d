"""Savepoints travel with the next statement: they undo what they should, and none is made around nothing."""

from contextlib import suppress

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from tests.factories import make_user
from tests.journeys import Journey

pytestmark = pytest.mark.django_db(transaction=True)


def _names() -> set[str]:
    return {*User.objects.values_list("username", flat=True)}


def test_what_failed_inside_is_undone_and_what_was_before_stays():
    with transaction.atomic():
        make_user("before")
        with suppress(IntegrityError), transaction.atomic():
            make_user("inside")
            make_user("before")
        make_user("after")

    assert _names() == {"before", "after"}


def test_an_error_before_the_first_statement_inside_leaves_the_rest():
    with transaction.atomic():
        make_user("before")
        with suppress(ValueError), transaction.atomic(), transaction.atomic():
            raise ValueError
        make_user("after")

    assert _names() == {"before", "after"}


def test_of_two_inside_each_other_the_inner_one_is_undone_alone():
    with transaction.atomic(), transaction.atomic():
        make_user("outer")
        with suppress(ValueError), transaction.atomic():
            make_user("inner")
            raise ValueError

    assert _names() == {"outer"}


def test_what_a_whole_transaction_undoes_takes_what_was_released_with_it():
    with suppress(ValueError), transaction.atomic():
        with transaction.atomic():
            make_user("inside")
        raise ValueError

    assert _names() == set()


def test_a_savepoint_takes_no_round_trip_of_its_own():
    with transaction.atomic(), Journey() as journey, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")

    assert journey.cost.statements == 1

"""Conditional requests and retries: a good copy costs nothing, a stale one overwrites nothing, twice is once (T9)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.models import Call, Profile
from knowledge.models import Hypothesis
from tests.transports.rest_wire import Rest, problem_in


@pytest.mark.django_db
def test_a_copy_that_is_still_good_is_answered_with_nothing() -> None:
    rest = Rest()
    etag = rest.get("facts/")["ETag"]

    unchanged = rest.get("facts/", headers={"If-None-Match": f'"other", W/{etag}'})
    rest.post("facts/", category="identity", fact="Is called Ada.")
    changed = rest.get("facts/", headers={"If-None-Match": etag})

    assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (304, b"", etag)
    assert changed.status_code == 200


@pytest.mark.django_db
def test_a_change_to_what_was_read_is_made_and_names_the_new_etag() -> None:
    rest = Rest()
    etag = rest.get("profile/")["ETag"]

    changed = rest.send("PATCH", "profile/", {"role": "Engineer"}, {"If-Match": etag})

    assert changed.status_code == 200
    assert changed["ETag"] == rest.get("profile/")["ETag"] != etag


@pytest.mark.django_db
def test_a_change_to_what_has_changed_since_is_refused() -> None:
    rest = Rest()
    etag = rest.get("profile/")["ETag"]
    rest.send("PATCH", "profile/", {"role": "Engineer"})

    stale = rest.send("PATCH", "profile/", {"role": "Manager"}, {"If-Match": etag})

    assert "Read it again" in problem_in(stale, 412)["hint"]
    assert Profile.objects.get(user=rest.key.key.user).role == "Engineer"


@pytest.mark.django_db
def test_a_note_is_replaced_on_condition_and_made_only_where_none_is() -> None:
    rest = Rest()
    address = {"domain": "email", "key": "rules"}
    made = rest.send("PUT", "notes/", {**address, "content": "One."}, {"If-None-Match": "*"})
    etag = rest.get("notes/", **address)["ETag"]

    taken = rest.send("PUT", "notes/", {**address, "content": "Two."}, {"If-None-Match": "*"})
    replaced = rest.send("PUT", "notes/", {**address, "content": "Three."}, {"If-Match": etag})
    stale = rest.delete("notes/", headers={"If-Match": etag}, **address)

    assert [response.status_code for response in (made, taken, replaced, stale)] == [200, 412, 200, 412]
    assert rest.get("notes/", **address).json()["items"][0]["content"] == "Three."


@pytest.mark.django_db
def test_nothing_matches_where_there_is_nothing() -> None:
    response = Rest().delete("notes/", headers={"If-Match": "*"}, domain="email", key="rules")

    problem_in(response, 412)


@pytest.mark.django_db
def test_a_refused_conditional_write_stays_in_the_usage_log() -> None:
    note = {"domain": "email", "key": "rules", "content": "One.", "expires_at": "2020-01-01T00:00:00Z"}

    response = Rest().send("PUT", "notes/", note, {"If-None-Match": "*"})

    problem_in(response, 422)
    assert list(Call.objects.values_list("operation", "outcome")) == [("knowledge_set", "invalid")]


@pytest.mark.django_db
def test_a_write_sent_again_has_one_effect_and_says_so() -> None:
    rest = Rest()
    arguments = {"hypothesis": "I believe the cache is cold because of the restart."}

    first = rest.post("hypotheses/", headers={"Idempotency-Key": "try-1"}, **arguments)
    again = rest.post("hypotheses/", headers={"Idempotency-Key": "try-1"}, **arguments)

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert ("Idempotency-Replayed" in first, again["Idempotency-Replayed"]) == (False, "true")
    assert Hypothesis.objects.count() == 1


@pytest.mark.django_db
def test_a_conditional_write_sent_again_is_answered_as_the_first_time() -> None:
    rest = Rest()
    headers = {"If-Match": rest.get("profile/")["ETag"], "Idempotency-Key": "try-1"}

    first = rest.send("PATCH", "profile/", {"role": "Engineer"}, headers)
    again = rest.send("PATCH", "profile/", {"role": "Engineer"}, headers)

    assert (first.status_code, again.status_code) == (200, 200)
    assert again["Idempotency-Replayed"] == "true"


@pytest.mark.django_db
def test_an_idempotency_key_is_good_for_one_call() -> None:
    rest = Rest()
    rest.post("hypotheses/", headers={"Idempotency-Key": "try-1"}, hypothesis="One.")

    response = rest.post("hypotheses/", headers={"Idempotency-Key": "try-1"}, hypothesis="Two.")

    assert "new key" in problem_in(response, 409)["hint"]


@pytest.mark.django_db(transaction=True)
def test_of_many_conditional_writes_at_once_one_wins() -> None:
    rest = Rest()
    etag = rest.get("profile/")["ETag"]

    def change(number: int) -> int:
        try:
            response = Rest(rest.key).send("PATCH", "profile/", {"role": f"Role {number}"}, {"If-Match": etag})
            return int(response.status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        statuses = list(threads.map(change, range(12)))

    assert sorted(statuses) == [200] + [412] * 11


@pytest.mark.django_db(transaction=True)
def test_twelve_logical_writes_tried_four_times_each_are_twelve_rows() -> None:
    rest = Rest()

    def write(number: int) -> int:
        try:
            headers = {"Idempotency-Key": f"write-{number % 12}"}
            response = Rest(rest.key).post("hypotheses/", headers=headers, hypothesis=f"Belief {number % 12}.")
            return int(response.status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        statuses = set(threads.map(write, range(48)))

    assert statuses == {201}
    assert Hypothesis.objects.count() == 12

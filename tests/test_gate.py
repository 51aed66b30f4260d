"""The gate: scope, toolset, rate limit, idempotency and the usage log, before every operation."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from accounts.actor import Actor
from accounts.keys import create_key
from accounts.models import Call, KeptReply
from bigmind.core.errors import Conflict, Forbidden, Invalid, NotFound, TooMany
from bigmind.gate import perform
from bigmind.operations import CATALOGUE, operations_for
from bigmind.toolsets import TOOLSETS
from knowledge.models import Fact, Hypothesis
from tests.factories import make_actor, make_user

ADD = CATALOGUE["memory_add_hypothesis"]
LIST = CATALOGUE["memory_list_hypotheses"]
ERASE = CATALOGUE["memory_erase_fact"]


def _keyed(**limits):
    user = make_user()
    return Actor.of(user, key=create_key(user, **limits).key)


@pytest.mark.django_db
def test_a_key_without_the_scope_is_told_which_it_needs():
    with pytest.raises(Forbidden, match="scope `write`"):
        perform(ADD, _keyed(scopes=["read"]), {"hypothesis": "x"}, transport="rest")


@pytest.mark.django_db
def test_a_key_limited_to_some_toolsets_can_call_and_see_no_other():
    actor = _keyed(toolsets=["notes"])

    with pytest.raises(Forbidden, match="limited to: notes"):
        perform(ADD, actor, {"hypothesis": "x"}, transport="rest")
    assert {operation.toolset for operation in operations_for(actor, ["all"])} == {"notes"}


@pytest.mark.django_db
def test_a_role_limits_what_a_key_may_claim():
    key = create_key(make_user(), scopes=["read", "write", "curate", "admin"]).key

    assert Actor.of(key.user, key=key).scopes == {"read", "write"}


@pytest.mark.django_db
def test_too_many_operations_in_a_minute_are_refused_for_this_key_alone(settings):
    settings.RATE_LIMIT_PER_MINUTE = 3
    busy, calm = _keyed(), _keyed()
    for _ in range(3):
        perform(LIST, busy, {}, transport="rest")

    with pytest.raises(TooMany) as refusal:
        perform(LIST, busy, {}, transport="rest")

    assert 0 < refusal.value.retry_after <= 60
    perform(LIST, calm, {}, transport="rest")


@pytest.mark.django_db
def test_a_retried_write_has_one_effect_and_the_same_reply():
    actor = make_actor()

    first = perform(ADD, actor, {"hypothesis": "x"}, transport="rest", idempotency_key="k-1")
    again = perform(ADD, actor, {"hypothesis": "x"}, transport="mcp", idempotency_key="k-1")

    assert (first.replayed, again.replayed) == (False, True)
    assert again.to_data() == first.to_data()
    assert Hypothesis.objects.count() == 1


@pytest.mark.django_db
def test_an_idempotency_key_is_not_used_for_another_call():
    actor = make_actor()
    perform(ADD, actor, {"hypothesis": "x"}, transport="rest", idempotency_key="k-1")

    with pytest.raises(Conflict, match="different call"):
        perform(ADD, actor, {"hypothesis": "y"}, transport="rest", idempotency_key="k-1")


@pytest.mark.django_db
def test_people_never_share_an_idempotency_key():
    perform(ADD, make_actor(), {"hypothesis": "x"}, transport="rest", idempotency_key="k-1")

    assert not perform(ADD, make_actor(), {"hypothesis": "x"}, transport="rest", idempotency_key="k-1").replayed


@pytest.mark.django_db
def test_a_refused_write_keeps_nothing_so_that_the_retry_is_performed():
    actor = make_actor()
    with pytest.raises(NotFound):
        perform(ERASE, actor, {"fact_id": 12345}, transport="rest", idempotency_key="k-1")

    assert not KeptReply.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb"])
def test_a_bad_idempotency_key_is_refused(key):
    with pytest.raises(Invalid, match="Idempotency-Key"):
        perform(ADD, make_actor(), {"hypothesis": "x"}, transport="rest", idempotency_key=key)


@pytest.mark.django_db
def test_what_was_erased_is_not_repeated_by_a_kept_reply():
    actor = make_actor()
    store = CATALOGUE["memory_store_fact"]
    stored = perform(store, actor, {"category": "identity", "fact": "x"}, transport="rest", idempotency_key="k-1")

    perform(ERASE, actor, {"fact_id": stored.to_data()["fact"]["id"]}, transport="rest")

    assert KeptReply.objects.get().reply is None
    with pytest.raises(Conflict, match="performed before"):
        perform(store, actor, {"category": "identity", "fact": "x"}, transport="rest", idempotency_key="k-1")


@pytest.mark.django_db
def test_an_erasure_with_an_idempotency_key_keeps_nothing_of_what_it_erased():
    actor = make_actor()
    stored = perform(CATALOGUE["memory_store_fact"], actor, {"category": "identity", "fact": "x"}, transport="rest")
    erase = {"fact_id": stored.to_data()["fact"]["id"]}

    erased = perform(ERASE, actor, erase, transport="rest", idempotency_key="k-2")

    assert erased.to_data()["fact"] == "x"
    assert KeptReply.objects.get().reply is None
    with pytest.raises(Conflict, match="performed before"):
        perform(ERASE, actor, erase, transport="rest", idempotency_key="k-2")


@pytest.mark.django_db
def test_each_call_is_recorded_with_how_it_ended_and_never_with_what_it_said():
    actor = make_actor()
    perform(ADD, actor, {"hypothesis": "Zanzibar"}, transport="mcp")
    with pytest.raises(NotFound):
        perform(ERASE, actor, {"fact_id": 1}, transport="rest")

    ended = list(Call.objects.order_by("pk").values_list("operation", "transport", "outcome"))

    assert ended == [("memory_add_hypothesis", "mcp", "ok"), ("memory_erase_fact", "rest", "not_found")]
    assert "Zanzibar" not in str(list(Call.objects.values()))


@pytest.mark.django_db
def test_the_usage_log_never_makes_a_write_around_it_less_durable():
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit TO local")

        perform(ADD, make_actor(), {"hypothesis": "x"}, transport="rest")

        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("local",)


@pytest.mark.django_db(transaction=True)
def test_of_many_retries_at_once_one_has_an_effect():
    actor = make_actor()

    def store(_):
        try:
            arguments = {"category": "identity", "fact": "Name is Lumen."}
            return perform(CATALOGUE["memory_store_fact"], actor, arguments, transport="rest", idempotency_key="k-1")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(store, range(24)))

    assert sum(not outcome.replayed for outcome in outcomes) == 1
    assert len({str(outcome.to_data()) for outcome in outcomes}) == 1
    assert Fact.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_fact_stored_by_many_at_once_is_stored_once():
    actor = make_actor()

    def store(_):
        try:
            arguments = {"category": "identity", "fact": "Name is Lumen."}
            return perform(CATALOGUE["memory_store_fact"], actor, arguments, transport="rest").to_data()
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(store, range(24)))

    assert sum(not reply["duplicate"] for reply in replies) == 1
    assert len({reply["fact"]["id"] for reply in replies}) == 1


def test_every_operation_is_in_a_toolset_that_exists_and_core_is_a_dozen_at_most():
    assert {operation.toolset for operation in CATALOGUE.values()} == set(TOOLSETS)
    assert sum(operation.is_listed_in({"core"}) for operation in CATALOGUE.values()) <= 12


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["mcp", "command"])
def test_agents_and_people_at_a_command_line_are_forgiven_what_is_plain(door):
    actor = make_actor()
    sent = {"category": "Preference", "fact": "Prefers tabs.", "confidence": None}

    stored = perform(CATALOGUE["memory_store_fact"], actor, sent, transport=door).value

    gone = {"fact_id": f"F{stored.fact.id}", "reason": "It changed."}
    assert perform(CATALOGUE["memory_deprecate_fact"], actor, gone, transport=door).value.id == stored.fact.id


@pytest.mark.django_db
def test_rest_takes_what_its_document_says_and_nothing_else():
    with pytest.raises(Invalid, match="category must be one of"):
        perform(CATALOGUE["memory_store_fact"], make_actor(), {"category": "Preference", "fact": "x"}, transport="rest")

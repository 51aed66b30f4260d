"""REST's manners: who is let in, where arguments go, what comes back."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.keys import revoke_key
from accounts.models import Agent
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.views import adds
from tests.factories import make_key, make_user
from tests.transports.rest_wire import Rest, problem_in

pytestmark = pytest.mark.django_db

FACT = {"category": "preference", "fact": "Prefers pytest."}


def test_what_is_known_already_is_not_said_to_be_added() -> None:
    rest = Rest()
    rest.post("facts/", **FACT)

    again = rest.post("facts/", **FACT)

    assert again.status_code == 200
    assert again.json()["duplicate"] is True


def test_only_posts_to_a_collection_add_to_it() -> None:
    added = {operation.name for operation in CATALOGUE.values() if adds(operation)}

    assert added == {
        "memory_start_session", "memory_flag_important", "memory_append_chunk", "memory_store_fact",
        "memory_add_hypothesis", "memory_promote_to_global", "memory_discuss_global", "kb_add", "app_report_failure",
        "golden_pin",
    }  # fmt: skip


def test_without_a_key_the_answer_is_a_challenge() -> None:
    rest = Rest()
    del rest.client.defaults["HTTP_AUTHORIZATION"]

    response = rest.get("facts/")

    problem_in(response, 401)
    assert response["WWW-Authenticate"] == 'Bearer realm="BigMind"'


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer bm_é", "Basic YTpi", "Bearer", "bm_naked"])
def test_a_header_that_opens_nothing_is_told_so(header: str) -> None:
    response = Rest().get("facts/", headers={"Authorization": header})

    assert problem_in(response, 401)["hint"].startswith("Send the header")
    assert response["WWW-Authenticate"] == 'Bearer realm="BigMind", error="invalid_token"'


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_key_that_has_ended_is_refused_at_once(end: str) -> None:
    rest = Rest()
    assert rest.get("facts/").status_code == 200
    if end == "revoked":
        revoke_key(rest.key.key)
    else:
        rest.key.key.expires_at = timezone.now() - timedelta(seconds=1)
        rest.key.key.save()

    response = rest.get("facts/")

    assert end in problem_in(response, 401)["detail"]


def test_a_key_that_may_only_read_is_told_which_scope_it_lacks() -> None:
    rest = Rest(make_key(scopes=["read"]))

    response = rest.post("facts/", **FACT)

    assert "scope `write`" in problem_in(response, 403)["hint"]
    assert response["WWW-Authenticate"] == 'Bearer realm="BigMind", error="insufficient_scope", scope="write"'


def test_the_word_current_stands_for_the_open_session() -> None:
    rest = Rest()
    session = rest.post("sessions/").json()["session_id"]

    chunk = rest.post("sessions/current/flags/", content="It was the pool.")
    ended = rest.post("sessions/current/end/", one_liner="Found the leak")

    assert chunk.json()["session_id"] == session
    assert ended.json()["id"] == session


def test_with_no_session_open_current_opens_one_and_says_so() -> None:
    response = Rest().post("sessions/current/flags/", content="It was the pool.")

    assert response.status_code == 201
    assert "No session was open" in response["BigMind-Notice"]


def test_each_client_on_each_machine_is_an_agent_of_its_own() -> None:
    user = make_user()
    rest = Rest(make_key(user), client="billing-bot/2.1 (linux; x86)")

    rest.get("facts/", headers={"X-Agent-Host": "worker-7"})
    rest.get("facts/", headers={"X-Agent-Host": "worker-8"})

    seen = Agent.objects.filter(user=user).order_by("host").values_list("client_name", "client_version", "host")
    assert list(seen) == [("billing-bot", "2.1", "worker-7"), ("billing-bot", "2.1", "worker-8")]


@pytest.mark.parametrize("query", ["topics=a&topics=b", "topics=a,b", "topics=a, b"])
def test_a_list_in_the_query_is_repeated_or_separated_by_commas(query: str) -> None:
    response = Rest().client.get(f"/api/v1/context/?{query.replace(' ', '%20')}")

    assert response.status_code == 200


def test_an_argument_given_twice_is_refused_by_name() -> None:
    response = Rest().client.get("/api/v1/facts/?limit=5&limit=6")

    assert problem_in(response, 422)["errors"] == [{"field": "limit", "message": "is given more than once"}]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_body_where_arguments_go_into_the_query_is_not_ignored(method: str) -> None:
    response = Rest().send(method, "notes/", {"domain": "email"})

    assert "query" in problem_in(response, 400)["detail"]


def test_a_query_where_arguments_go_into_the_body_is_not_ignored() -> None:
    response = Rest().post("vacuum/?dry_run=false")

    assert "body" in problem_in(response, 400)["detail"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"confidence": "0.5"}, "confidence"), ({"fact": 5}, "fact"), ({"category": ["identity"]}, "category")],
)
def test_a_value_of_another_type_than_the_document_says_is_refused(arguments: dict[str, Any], field: str) -> None:
    response = Rest().post("facts/", **{**FACT, **arguments})

    assert [error["field"] for error in problem_in(response, 422)["errors"]] == [field]


def test_a_text_is_no_list_in_a_body() -> None:
    response = Rest().post("sessions/", topics="a, b")

    assert problem_in(response, 422)["errors"] == [{"field": "topics", "message": "must be a list"}]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    response = Rest().send("POST", "vacuum/", b'{"older_than_days": 30.0}')

    assert response.status_code == 200


def test_a_long_list_names_its_next_and_previous_page() -> None:
    rest = Rest()
    for number in range(3):
        rest.post("facts/", category="preference", fact=f"Fact {number}.")

    response = rest.get("facts/", limit=1, offset=1, category="preference")

    page, cursor = "http://localhost:7700/api/v1/facts/?limit=1&category=preference", response.json()["next_cursor"]
    assert response["Link"] == f'<{page}&cursor={cursor}>; rel="next", <{page}&offset=0>; rel="prev"'
    assert "Link" not in rest.get("facts/")


def test_head_and_options_are_answered() -> None:
    rest = Rest()

    head = rest.client.head("/api/v1/facts/")
    options = rest.client.options("/api/v1/facts/")

    assert (head.status_code, head.content) == (200, b"")
    assert (options.status_code, set(options["Allow"].split(", "))) == (204, {"GET", "HEAD", "POST", "OPTIONS"})


def test_the_document_too_answers_head_and_options() -> None:
    client = Client()

    head, options = client.head("/api/v1/openapi.json"), client.options("/api/v1/openapi.json")

    assert (head.status_code, head.content) == (200, b"")
    assert (options.status_code, options.content) == (204, b"")


def test_the_request_id_is_kept_when_it_is_a_plain_one() -> None:
    rest = Rest()

    assert rest.get("facts/", headers={"X-Request-Id": "deploy-42.a"})["X-Request-Id"] == "deploy-42.a"
    assert rest.get("facts/", headers={"X-Request-Id": "x" * 65})["X-Request-Id"] != "x" * 65


def test_too_many_requests_are_told_when_to_come_back(settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = 1
    rest = Rest()
    rest.get("facts/")

    response = rest.get("facts/")

    problem = problem_in(response, 429)
    assert int(response["Retry-After"]) == problem["retry_after"] <= 60
    assert response["RateLimit"].startswith('"minute";r=0;t=')


def test_every_reply_to_a_key_says_what_is_left_of_its_minute(settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = 5
    rest = Rest()

    replies = [rest.get("facts/"), rest.get("facts/"), rest.get("facts/1/"), rest.post("facts/", fact="x")]

    assert [reply.status_code for reply in replies] == [200, 200, 405, 422]
    assert {reply["RateLimit-Policy"] for reply in replies} == {'"minute";q=5;w=60'}
    assert [reply["RateLimit"].split(";")[1] for reply in replies] == ["r=4", "r=3", "r=3", "r=3"]


def test_a_key_with_a_limit_of_its_own_is_told_that_one(settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = 600
    rest = Rest(make_key(per_minute=1))

    replies = [rest.get("facts/"), rest.get("facts/")]

    assert [reply.status_code for reply in replies] == [200, 429]
    assert replies[0]["RateLimit-Policy"] == '"minute";q=1;w=60'


def test_without_a_limit_and_without_a_key_nothing_is_said_of_one(settings: Any) -> None:
    settings.RATE_LIMIT_PER_MINUTE = 0

    unlimited, nobody = Rest().get("facts/"), Client().get("/api/v1/facts/")

    assert "RateLimit" not in unlimited
    assert "RateLimit" not in nobody

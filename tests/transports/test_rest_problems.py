"""Every refusal over REST is problem+json with a hint and the id of the request, whoever refuses."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from accounts.models import SCOPES
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.problems import TITLES
from tests.factories import make_key, make_user
from tests.transports.rest_wire import Rest, problem_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/api/v1/facts", "/api/v1/facts/"),
        ("/api/v1/factz/", "/api/v1/facts/"),
        ("/api/v1/facts/12", "/api/v1/facts/12/"),
        ("/api/v1/sessions/current/ende/", ""),
        ("/api/v2/", ""),
        ("/api/nothing/like/it", ""),
    ],
)
def test_a_route_that_does_not_exist_names_the_nearest(path: str, nearest: str) -> None:
    problem = problem_in(Client().post(path), 404)

    assert problem["type"].endswith("/api/#no_route")
    assert nearest in problem["hint"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_another_method_is_refused_with_those_there_are(method: str) -> None:
    response = Rest().client.generic(method, "/api/v1/facts/")

    problem_in(response, 405)
    assert set(response["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}


@pytest.mark.parametrize("path", ["/api/", "/api/v1/openapi.json"])
def test_what_can_only_be_read_refuses_the_rest(path: str) -> None:
    problem_in(Client(enforce_csrf_checks=True).post(path), 405)


@pytest.mark.parametrize(
    ("path", "sent", "headers", "field"),
    [
        ("forget/", {}, {}, "key"),
        ("company/", {"category": "standard", "title": "T", "source_kind": "fact"}, {}, "source_id"),
        ("hypotheses/", {"hypothesis": "One."}, {"Idempotency-Key": "x" * 201}, "Idempotency-Key"),
    ],
)
def test_a_rule_between_arguments_names_one_of_them(
    path: str, sent: dict[str, Any], headers: dict[str, str], field: str
) -> None:
    response = Rest(make_key(make_user(role="admin"), scopes=SCOPES)).post(path, headers, **sent)

    assert [error["field"] for error in problem_in(response, 422)["errors"]] == [field]


def test_whoever_accepts_no_json_is_told_so() -> None:
    problem_in(Rest().get("facts/", headers={"Accept": "text/html"}), 406)


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded", "application/xml"])
def test_a_body_that_is_not_json_is_refused(content_type: str) -> None:
    response = Rest().client.generic("POST", "/api/v1/facts/", b"fact=1", content_type=content_type)

    assert "application/json" in problem_in(response, 415)["hint"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object"),
        (b"null", "JSON object"),
        (b'{"fact": NaN}', "NaN"),
        (b'{"fact": -Infinity}', "Infinity"),
        (b'{"confidence": 1e999}', "too large"),
        (b'{"confidence": ' + b"1" * 5000 + b"}", "too long"),
        (b'{"fact": "\xff"}', "UTF-8"),
        (b'\xef\xbb\xbf{"fact": "x"}', "not JSON"),
        (b'{"fact": "a\x00b"}', "not JSON"),
        (b'{"fact": ' + b"[" * 65 + b"]" * 65 + b"}", "64 levels"),
        (b'{"fact": ' + b'{"a":' * 100_000, "64 levels"),
        (b"[" * 100_000, "64 levels"),
    ],
)
def test_json_that_two_readers_could_take_differently_is_refused(body: bytes, says: str) -> None:
    response = Rest().send("POST", "facts/", body)

    assert says in problem_in(response, 400)["detail"]


def test_a_name_given_twice_is_named() -> None:
    response = Rest().send("POST", "facts/", b'{"fact": "a", "category": "identity", "fact": "b"}')

    assert problem_in(response, 400)["errors"] == [{"field": "fact", "message": "is given more than once"}]


def test_sixty_four_levels_are_read() -> None:
    response = Rest().send("POST", "facts/", b'{"fact": ' + b"[" * 63 + b"]" * 63 + b"}")

    assert "fact" in {error["field"] for error in problem_in(response, 422)["errors"]}


@pytest.mark.parametrize(("path", "limit"), [("facts/", 1024 * 1024), ("import/", 4 * 1024 * 1024)])
def test_a_body_over_the_limit_is_refused_with_both_sizes(path: str, limit: int) -> None:
    body = b'{"fact": "' + b"x" * (limit + 1) + b'"}'

    problem = problem_in(Rest().send("POST", path, body), 413)

    assert f"{limit:,}" in problem["detail"]
    assert f"{len(body):,}" in problem["detail"]


def test_a_path_that_is_not_utf_8_is_refused() -> None:
    problem = problem_in(Rest().client.delete("/api/v1/facts/%ff/"), 422)

    assert problem["errors"][0]["field"] == "fact_id"


def test_a_query_with_very_many_parameters_is_refused() -> None:
    query = "&".join(f"a{number}=1" for number in range(1100))

    problem_in(Rest().client.get(f"/api/v1/facts/?{query}"), 400)


def test_another_host_is_told_the_setting(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]

    problem = problem_in(Client().get("/api/v1/facts/", headers={"Host": "evil.example"}), 421)

    assert "BIGMIND_PUBLIC_URL" in problem["hint"]


def test_a_database_that_is_away_is_not_the_callers_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("connection refused: password=hunter2")

    monkeypatch.setattr("bigmind.transports.rest.views.perform", away)

    response = Rest().get("facts/")

    assert "hunter2" not in str(problem_in(response, 503))
    assert response["Retry-After"]


def test_what_nobody_foresaw_tells_nothing_but_the_request_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr("bigmind.transports.rest.views.perform", broken)

    problem = problem_in(Rest().get("facts/"), 500)

    assert "hunter2" not in str(problem)
    assert "Traceback" not in str(problem)


def test_every_kind_of_problem_is_explained_on_the_page() -> None:
    page = Client().get("/api/").content.decode()

    for kind in TITLES:
        assert f'id="{kind}"' in page


def test_a_refusal_of_an_operation_keeps_what_a_program_can_use() -> None:
    rest = Rest()
    fact = rest.post("facts/", category="identity", fact="Is called Ada.").json()["fact"]["id"]
    rest.post(f"facts/{fact}/deprecate/", reason="She is not.")

    problem = problem_in(rest.post(f"facts/{fact}/deprecate/", reason="Again."), 409)

    assert problem["fact_id"] == fact


def test_no_route_opens_without_a_key() -> None:
    for operation in CATALOGUE.values():
        path = operation.path.replace("{", "").replace("}", "")

        response = Client().generic(operation.method, f"/api/v1/{path}", b"{}", content_type="application/json")

        problem_in(response, 401)

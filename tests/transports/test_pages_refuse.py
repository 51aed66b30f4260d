"""What pages do when something is refused or broken: a page in plain words, with the id of the request."""

from typing import Any

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path

from bigmind.core.errors import BigMindError, Conflict, Forbidden, Invalid, NotFound, TooMany
from bigmind.middleware import HEADINGS
from bigmind.transports.rest.problems import STATUSES
from bigmind.urls import handler400, handler403, handler404, handler500, urlpatterns

REFUSALS: dict[str, Exception] = {
    "not_found": NotFound("You have no fact 12.", hint="Look at the list."),
    "forbidden": Forbidden("A member may not do this."),
    "conflict": Conflict("That is known already.", hint="See fact 3."),
    "invalid": Invalid("fact is required.", problems=[{"field": "fact", "message": "is required"}]),
    "too_many": TooMany("More than 600 operations in a minute.", retry_after=7),
    "database": OperationalError("password=hunter2"),
    "bug": RuntimeError("hunter2"),
}


def _refuse(request: HttpRequest, kind: str) -> HttpResponse:
    raise REFUSALS[kind]


class Urls:
    """The real addresses, and one where everything is refused."""

    urlpatterns = [path("refuse/<str:kind>/", _refuse), *urlpatterns]
    handler400, handler403, handler404, handler500 = handler400, handler403, handler404, handler500


@pytest.fixture(autouse=True)
def with_a_page_that_refuses(settings: Any) -> None:
    """Route the page above."""
    settings.ROOT_URLCONF = Urls


@pytest.mark.parametrize(
    ("kind", "status", "says"),
    [
        ("not_found", 404, "You have no fact 12."),
        ("forbidden", 403, "A member may not do this."),
        ("conflict", 409, "See fact 3."),
        ("invalid", 422, "fact is required."),
        ("too_many", 429, "More than 600 operations"),
        ("database", 503, "The database does not answer"),
        ("bug", 500, "Something broke on our side"),
    ],
)
@pytest.mark.django_db
def test_a_refusal_is_a_page_that_says_what_is_wrong(kind: str, status: int, says: str) -> None:
    response = Client(raise_request_exception=False).get(f"/refuse/{kind}/", headers={"X-Request-Id": "deploy-42"})

    assert response.status_code == status
    page = response.content.decode()
    assert says in page
    assert "deploy-42" in page
    assert "hunter2" not in page


@pytest.mark.django_db
def test_who_did_too_much_is_told_when_to_come_back() -> None:
    assert Client().get("/refuse/too_many/")["Retry-After"] == "7"


@pytest.mark.django_db
def test_another_host_is_told_the_setting(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]

    response = Client().get("/sign-in/", headers={"Host": "evil.example"})

    assert response.status_code == 400
    assert "BIGMIND_PUBLIC_URL" in response.content.decode()


def test_every_refusal_has_a_heading() -> None:
    kinds = set(BigMindError.__subclasses__())

    assert set(STATUSES) == kinds
    assert {STATUSES[kind] for kind in kinds} == set(HEADINGS)


def test_a_request_without_an_id_is_given_one_that_nobody_else_has(rf: RequestFactory) -> None:
    ids = {Client().get("/healthz")["X-Request-Id"] for _ in range(50)}

    assert len(ids) == 50

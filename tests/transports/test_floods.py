"""Brute force and floods (T15): at every door that takes a secret, and what others at work notice of it: nothing."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

import httpx
import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.keys import new_key_text
from accounts.people.invitations import invite
from accounts.sign_in.attempts import EXCHANGES_PER_MINUTE, GUESSES_PER_MINUTE, TRIES
from accounts.sign_in.links import make_sign_in_link
from tests.factories import make_actor, make_key, make_user
from tests.serving import Served
from tests.transports.doors import (
    LOCKED,
    METRICS_TOKEN,
    NOTHING_TO_GUESS,
    PASSWORD,
    SERVED,
    SERVED_TO_ALL,
    WAITING,
    Knock,
    Person,
)
from tests.transports.mcp_wire import Wire
from tests.transports.oauth_wire import INITIALIZE, App
from tests.transports.routes import ANYONE, RULES, routes

pytestmark = pytest.mark.django_db
ATTACKER = Person("192.0.2.66")
SOMEBODY_ELSE = Person("192.0.2.7")
TOO_MANY = 429
ROUNDS = 5
# Another address of this machine, which no other test comes from.
FROM_ELSEWHERE = (f"127.0.77.{number}" for number in count(1))

Show = Callable[[str], httpx.Response]


@pytest.fixture(autouse=True)
def _nothing_counted(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Count from nothing, in a minute that does not end."""
    cache.clear()
    monkeypatch.setattr("accounts.services.rate_limits.time", lambda: 1_000_000_020)
    settings.BIGMIND_MODE, settings.METRICS_TOKEN = "team", METRICS_TOKEN
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = "https://sign-in.example", "bigmind"
    yield
    cache.clear()


# --- which doors there are --------------------------------------------------------------------------------------


def test_every_page_that_anybody_may_open_has_a_rule_about_guessing() -> None:
    ruled = {*LOCKED, *WAITING, *NOTHING_TO_GUESS}

    assert set(RULES[ANYONE]) - ruled == set()
    assert ruled <= set(routes())


def test_every_page_that_takes_what_must_not_be_logged_has_a_rule_about_guessing() -> None:
    # Django is told so for error reports: the request remembers it, also where nobody is signed in.
    asked = {name: Client().post(route.somewhere()).wsgi_request for name, route in routes().items()}
    sensitive = {name for name, request in asked.items() if hasattr(request, "sensitive_post_parameters")}

    assert sensitive - {*LOCKED, *WAITING} == set()
    assert set(LOCKED) <= sensitive


def test_every_path_of_the_mcp_server_has_a_rule_about_guessing() -> None:
    from bigmind.transports.mcp.oauth.routes import oauth_routes

    paths = {route.path for route in oauth_routes()} | {"/mcp", "/mcp/oauth"}

    assert paths == {*SERVED, *SERVED_TO_ALL}


# --- what people type: ten tries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [begin for ways in LOCKED.values() for begin in ways])
def test_after_ten_wrong_tries_with_forged_addresses_the_right_one_waits_and_others_do_not(
    begin: Callable[[Person], Knock],
) -> None:
    knock, other = begin(ATTACKER), begin(SOMEBODY_ELSE)
    wrong = [knock(number).status_code for number in range(1, TRIES + 1)]

    refused = knock(0)
    theirs = other(0)

    assert set(wrong) == {422}
    assert refused.status_code == TOO_MANY
    assert 1 <= int(refused["Retry-After"]) <= 15 * 60
    assert theirs.status_code in {200, 302}


# --- what nobody can guess: the right one goes in -----------------------------------------------------------------


def _link(token: str) -> str:
    return reverse("sign-in-link", args=[token or make_sign_in_link(make_user())])


def _invitation(token: str) -> str:
    if token:
        return reverse("invitation", args=[token])
    made = invite(make_actor(admin=True), name="Ada", email="ada@example.com", role="member")
    return "/" + made.url.split("/", 3)[3]


@pytest.mark.parametrize("address_of", [_link, _invitation])
def test_links_that_are_guessed_have_to_wait_and_one_that_is_good_opens(address_of: Callable[[str], str]) -> None:
    browser = ATTACKER.browser()
    wrong = [browser.get(address_of(f"guess{n}"), headers=ATTACKER.forged(n)) for n in range(GUESSES_PER_MINUTE)]

    refused = [
        ask(address_of("one more"), headers=ATTACKER.forged(99))
        for ask in (browser.get, browser.post, Client(REMOTE_ADDR=ATTACKER.address).get)
    ]

    assert {answer.status_code for answer in wrong} == {410}
    assert {answer.status_code for answer in refused} == {TOO_MANY}
    assert all(1 <= int(answer["Retry-After"]) <= 60 for answer in refused)
    assert browser.get(address_of("")).status_code == 200
    assert SOMEBODY_ELSE.browser().get(address_of("a typing error")).status_code == 410


def test_a_link_that_was_good_once_is_told_so_however_many_were_wrong() -> None:
    used = reverse("sign-in-link", args=[make_sign_in_link(make_user())])
    browser = ATTACKER.browser()
    browser.post(used)
    for number in range(GUESSES_PER_MINUTE):
        browser.get(_link(f"guess{number}"))

    assert {browser.get(used).status_code for _ in range(2 * GUESSES_PER_MINUTE)} == {410}


def test_who_comes_back_from_no_sign_in_that_was_begun_has_to_wait() -> None:
    browser = ATTACKER.browser()

    def comes_back(number: int) -> Any:
        told = {"code": f"c{number}", "state": f"s{number}"}
        return browser.get(reverse("sso-callback"), told, headers=ATTACKER.forged(number))

    wrong = [comes_back(number).status_code for number in range(GUESSES_PER_MINUTE)]
    refused = comes_back(99)

    assert set(wrong) == {422}
    assert refused.status_code == TOO_MANY
    assert int(refused["Retry-After"]) >= 1


def test_the_token_of_the_metrics_is_not_guessed_without_end() -> None:
    def asked(token: str, person: Person = ATTACKER, number: int = 0) -> Any:
        shown = {"Authorization": f"Bearer {token}", **person.forged(number)}
        return person.browser().get("/metrics", headers=shown)

    wrong = [asked(f"guess {number}", number=number).status_code for number in range(GUESSES_PER_MINUTE)]
    refused = asked("one more")

    assert set(wrong) == {401}
    assert refused.status_code == TOO_MANY
    assert int(refused["Retry-After"]) >= 1
    assert asked(METRICS_TOKEN).status_code == 200
    assert asked("a typing error", SOMEBODY_ELSE).status_code == 401


def test_one_wrong_key_in_a_clients_settings_leaves_the_guesses_to_others() -> None:
    def asked(key: str) -> int:
        return ATTACKER.browser().get("/api/v1/facts/", headers={"Authorization": f"Bearer {key}"}).status_code

    stale, typo = new_key_text(), new_key_text()
    again_and_again = [asked(stale) for _ in range(GUESSES_PER_MINUTE + 2)]

    assert again_and_again == [401] * GUESSES_PER_MINUTE + [TOO_MANY] * 2
    assert asked(typo) == 401


# --- where it is served, with others at work ------------------------------------------------------------------------


@pytest.fixture
def elsewhere(served: Served) -> Iterator[httpx.Client]:
    """Yield a client at an address of its own."""
    transport = httpx.HTTPTransport(local_address=next(FROM_ELSEWHERE))
    with httpx.Client(base_url=served.url, transport=transport, timeout=60) as client:
        yield client


def _doors_of(served: Served, client: httpx.Client) -> dict[str, tuple[Show, str, int]]:
    """Return for each served door: how something is shown there, what is right, and what answers a wrong one."""
    app = App(served)
    pair = app.let_in(make_user())

    def bearer(method: str, path: str) -> Show:
        def show(text: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {text}", "Accept": "application/json, text/event-stream"}
            headers |= ATTACKER.forged(len(text) % 250)
            return client.request(method, path, headers=headers, json=INITIALIZE if method == "POST" else None)

        return show

    def form(path: str, **fields: str) -> Show:
        (name,) = [name for name, value in fields.items() if value == "?"]

        def show(text: str) -> httpx.Response:
            said = {**fields, name: text, "client_id": app.client_id, "resource": app.resource}
            return client.post(path, data=said, headers=ATTACKER.forged(len(text) % 250))

        return show

    key = make_key().text
    return {
        "/api/v1/": (bearer("GET", "/api/v1/facts/"), key, 401),
        "/hooks/": (bearer("POST", "/hooks/codex/"), key, 401),
        "/mcp": (bearer("POST", "/mcp"), key, 401),
        "/mcp/oauth": (bearer("POST", "/mcp/oauth"), pair["access_token"], 401),
        "/mcp/oauth/token": (
            form("/mcp/oauth/token", grant_type="refresh_token", refresh_token="?"),
            pair["refresh_token"],
            400,
        ),
        "/mcp/oauth/revoke": (form("/mcp/oauth/revoke", token="?"), pair["access_token"], 200),
    }


@pytest.mark.parametrize("door", ["/api/v1/", "/hooks/", *SERVED])
def test_a_flood_of_wrong_secrets_waits_while_what_is_right_goes_in(
    served: Served, elsewhere: httpx.Client, door: str
) -> None:
    show, right, usual = _doors_of(served, elsewhere)[door]

    *wrong, refused = _until_told(lambda: show(new_key_text()), "", GUESSES_PER_MINUTE)

    assert len(wrong) >= GUESSES_PER_MINUTE
    assert {answer.status_code for answer in wrong} == {usual}
    assert refused.status_code == TOO_MANY
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert show(right).status_code == 200


def _until_told(ask: Callable[[], httpx.Response], words: str, most: int) -> list[httpx.Response]:
    """Ask until it is too much, in these words. Whoever begins at the end of a minute is counted anew in the next."""
    answers = [ask()]
    while not (answers[-1].status_code == TOO_MANY and words in answers[-1].text) and len(answers) <= 2 * most:
        answers.append(ask())
    return answers


def test_tokens_are_exchanged_so_often_a_minute_from_one_address(served: Served, elsewhere: httpx.Client) -> None:
    app = App(served)
    pair = app.let_in(make_user())

    def exchange() -> httpx.Response:
        return elsewhere.post("/mcp/oauth/token", data={"grant_type": "nonsense", "client_id": app.client_id})

    *answers, refused = _until_told(exchange, "exchanged", EXCHANGES_PER_MINUTE)

    assert len(answers) >= EXCHANGES_PER_MINUTE
    assert {answer.status_code for answer in answers} <= {400, 401, TOO_MANY}
    assert refused.status_code == TOO_MANY
    assert "exchanged" in refused.text
    assert app.refresh(pair["refresh_token"]).status_code == 200


def test_somebody_at_work_notices_nothing_of_a_flood_at_every_door(served: Served, elsewhere: httpx.Client) -> None:
    key = make_key().text
    make_user("grace", password=PASSWORD)
    doors = [show for show, _, _ in _doors_of(served, elsewhere).values()]
    over = Event()

    def flood(number: int) -> list[int]:
        statuses = []
        while not over.is_set():
            statuses.append(doors[number % len(doors)](new_key_text()).status_code)
        return statuses

    with ThreadPoolExecutor(len(doors)) as threads:
        floods = [threads.submit(flood, number) for number in range(len(doors))]
        try:
            answers = _work(served, key)
        finally:
            over.set()

    assert {status for one in floods for status in one.result()} <= {200, 400, 401, TOO_MANY}
    assert TOO_MANY in {status for one in floods for status in one.result()}
    assert answers == [(201, 200, 200)] * len(answers)


def _work(served: Served, key: str) -> list[tuple[int, int, int]]:
    """Write, read and call a tool a few times, from the address where everybody is."""
    wire = Wire(served, key)
    with httpx.Client(
        base_url=f"{served.url}/api/v1/", headers={"Authorization": f"Bearer {key}"}, timeout=60
    ) as client:
        return [
            (
                client.post("facts/", json={"category": "decision", "fact": f"Door {number} is shut."}).status_code,
                client.get("facts/").status_code,
                wire.send("tools/list").status_code,
            )
            for number in range(ROUNDS)
        ]

"""The door for apps that only do OAuth: what it tells, whom it lets in, and everything that it refuses."""

from datetime import timedelta
from itertools import product
from typing import Any

import httpx
import pytest
from django.utils import timezone

from accounts.keys import revoke_key
from accounts.models import ApiKey, AppToken, Call, ConnectedApp, Role
from accounts.oauth.connected_apps import INTRODUCED_FROM_AN_ADDRESS
from accounts.tasks import forget_unused_apps
from curation.decisions.forgetting import forget_source
from knowledge.models import Fact, Writing
from tests.copies import serving_copy
from tests.embedded.instance import eventually
from tests.factories import make_actor, make_key, make_user
from tests.serving import Served
from tests.transports.oauth_wire import INITIALIZE, REDIRECT, TOOLS_LIST, App, Browser

METADATA = "/.well-known/oauth-protected-resource/mcp/oauth"
SERVER = "/.well-known/oauth-authorization-server/mcp/oauth"
STORE = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_store_fact", "arguments": {"category": "preference", "fact": "Prefers tabs."}},
}


@pytest.fixture
def app(served: Served) -> App:
    """An app that has registered itself."""
    return App(served)


def _text(reply: httpx.Response) -> str:
    text: str = reply.json()["result"]["content"][0]["text"]
    return text


# --- what the door tells ----------------------------------------------------------------------------------------


def test_who_shows_nothing_is_told_where_the_metadata_is(served: Served) -> None:
    response = httpx.post(f"{served.url}/mcp/oauth", json=TOOLS_LIST)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == (
        f'Bearer realm="BigMind", resource_metadata="{served.url}{METADATA}", scope="read write"'
    )


def test_the_metadata_names_this_door_alone_and_how_to_be_let_in(served: Served) -> None:
    resource = httpx.get(f"{served.url}{METADATA}").json()
    server = httpx.get(f"{served.url}{SERVER}").json()

    assert resource["resource"] == f"{served.url}/mcp/oauth"
    assert resource["authorization_servers"] == [server["issuer"]]
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["client_id_metadata_document_supported"] is True
    assert {server[f"{name}_endpoint"] for name in ("authorization", "token", "registration", "revocation")} == {
        f"{served.url}/mcp/oauth/{path}" for path in ("authorize", "token", "register", "revoke")
    }


@pytest.mark.parametrize(
    "path",
    [
        "/mcp/oauth/.well-known/oauth-protected-resource", "/mcp/oauth/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp/oauth", "/.well-known/oauth-protected-resource/mcp/oauth/authorize",
        "/authorize", "/token", "/register",
    ],
)  # fmt: skip
def test_what_clients_try_besides_is_not_found(served: Served, path: str) -> None:
    assert httpx.get(f"{served.url}{path}").status_code == 404


def test_where_it_is_switched_off_nothing_of_it_is_found(served: Served, tmp_path: Any) -> None:
    with serving_copy(tmp_path / "log.txt", BIGMIND_OAUTH="off") as (other, _):
        paths = ["/mcp/oauth", METADATA, SERVER, "/mcp/oauth/authorize", "/mcp/oauth/token", "/mcp/oauth/register"]
        found = [path for path in paths if httpx.get(f"{other.url}{path}").status_code != 404]
        with_key = httpx.post(other.mcp, json=TOOLS_LIST)

    assert found == []
    assert with_key.status_code == 401


# --- being let in -----------------------------------------------------------------------------------------------


def test_an_app_that_was_let_in_lists_tools_and_what_it_stores_is_known_as_its_own(app: App) -> None:
    user = make_user("ada")
    pair = app.let_in(user)

    listed = app.call(pair["access_token"])
    stored = app.call(pair["access_token"], message=STORE)

    key = ApiKey.objects.get(user=user)
    assert pair["access_token"].startswith("bma_")
    assert pair["expires_in"] == 3600
    assert pair["scope"] == "read write"
    assert len(listed.json()["result"]["tools"]) > 5
    assert not stored.json()["result"].get("isError")
    assert key.app == ConnectedApp.objects.get(name="Ada's chat")
    assert key.last_used_by.startswith("adas-chat")
    eventually(lambda: Call.objects.filter(operation="memory_store_fact", key=key).count() == 1)
    assert Writing.objects.get(kind="fact").key == key


def test_what_a_connected_app_wrote_can_be_forgotten_by_its_key(app: App) -> None:
    user = make_user("ada")
    app.call(app.let_in(user)["access_token"], message=STORE)

    forgotten = forget_source(make_actor(user), key=ApiKey.objects.get(user=user).pk, dry_run=False)

    assert forgotten.facts == 1
    assert not Fact.objects.filter(user=user).exists()


def test_a_person_permits_fewer_scopes_than_were_asked_for(app: App) -> None:
    code = Browser(app.served, make_user()).way_back(app.page(), scopes=["read"])["code"]

    pair = app.exchange(code).json()
    stored = app.call(pair["access_token"], message=STORE)

    assert pair["scope"] == "read"
    assert "This app may not write." in _text(stored)


def test_what_the_role_does_not_permit_is_not_offered(app: App) -> None:
    pair = app.let_in(make_user(role=Role.MEMBER), scope="read curate admin openid")

    assert pair["scope"] == "read"


def test_who_refuses_sends_the_app_away_and_lets_nothing_in(app: App) -> None:
    told = Browser(app.served, make_user()).way_back(app.page(), "refuse")

    assert told["error"] == "access_denied"
    assert told["state"] == "s1"
    assert told["iss"] == app.resource
    assert not ApiKey.objects.exists()


def test_who_is_not_signed_in_signs_in_first_and_then_decides(app: App) -> None:
    page = app.http.get(app.ask().headers["Location"])

    assert page.status_code == 302
    assert page.headers["Location"].startswith("/sign-in/?next=/connected-apps/consent/")


def test_on_this_machine_the_port_is_the_apps_to_choose(app: App) -> None:
    app.redirect_uri = REDIRECT.replace("8765", "50123")

    pair = app.let_in(make_user())

    assert app.call(pair["access_token"]).status_code == 200


def test_a_program_with_a_scheme_of_its_own_is_led_back_to(served: Served) -> None:
    app = App(served, redirect_uri="cursor://anysphere.cursor-mcp/oauth/back")

    answer = Browser(served, make_user()).decide(app.page())

    assert 'content="0;url=cursor://anysphere.cursor-mcp/oauth/back?code=bmc_' in answer.text


# --- tokens -----------------------------------------------------------------------------------------------------


def test_nothing_of_a_token_is_stored_but_its_hash(app: App) -> None:
    pair = app.let_in(make_user())

    rows = [str(row) for row in [*AppToken.objects.values(), *ApiKey.objects.values(), *ConnectedApp.objects.values()]]

    assert not any(text in row for row in rows for text in (pair["access_token"], pair["refresh_token"]))


def test_a_refresh_token_gives_a_new_pair_once(app: App) -> None:
    first = app.let_in(make_user())

    second = app.refresh(first["refresh_token"]).json()

    assert second["refresh_token"] != first["refresh_token"]
    assert app.call(second["access_token"]).status_code == 200


def test_a_refresh_token_that_is_shown_twice_ends_the_access_of_the_app(app: App) -> None:
    first = app.let_in(make_user())
    second = app.refresh(first["refresh_token"]).json()

    again = app.refresh(first["refresh_token"])

    assert again.json()["error"] == "invalid_grant"
    assert app.call(second["access_token"]).status_code == 401
    assert app.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("kind", ["code", "refresh"])
def test_what_was_exchanged_ends_the_access_of_the_app_also_after_it_has_expired(app: App, kind: str) -> None:
    code = Browser(app.served, make_user()).way_back(app.page())["code"]
    first = app.exchange(code).json()
    second = app.refresh(first["refresh_token"]).json()
    AppToken.objects.exclude(exchanged_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert app.call(second["access_token"]).status_code == 200

    again = app.exchange(code) if kind == "code" else app.refresh(first["refresh_token"])

    assert again.json()["error"] == "invalid_grant"
    assert app.call(second["access_token"]).status_code == 401


def test_a_token_that_expired_unused_ends_nothing(app: App) -> None:
    pair = app.let_in(make_user())
    AppToken.objects.filter(kind="refresh").update(expires_at=timezone.now() - timedelta(seconds=1))

    refused = app.refresh(pair["refresh_token"])

    assert refused.json()["error"] == "invalid_grant"
    assert app.call(pair["access_token"]).status_code == 200


def test_apps_that_nobody_let_in_and_tokens_that_have_expired_are_forgotten(app: App) -> None:
    app.let_in(make_user())
    apps = [ConnectedApp(client_id=name, redirect_uris=[REDIRECT]) for name in ("yesterday", "today")]
    ConnectedApp.objects.bulk_create(apps)
    ConnectedApp.objects.exclude(client_id="today").update(introduced_at=timezone.now() - timedelta(hours=25))
    AppToken.objects.filter(kind="access").update(expires_at=timezone.now() - timedelta(seconds=1))

    forget_unused_apps()

    assert set(ConnectedApp.objects.values_list("client_id", flat=True)) == {app.client_id, "today"}
    assert set(AppToken.objects.values_list("kind", flat=True)) == {"code", "refresh"}
    assert ApiKey.objects.of_apps().count() == 1


def test_an_app_that_was_let_in_and_never_fetched_its_tokens_is_forgotten(app: App) -> None:
    Browser(app.served, make_user()).way_back(app.page())
    ConnectedApp.objects.update(introduced_at=timezone.now() - timedelta(hours=25))
    forget_unused_apps()
    before = ConnectedApp.objects.count(), AppToken.objects.count()

    for rows in (AppToken.objects, ApiKey.objects):
        rows.update(expires_at=timezone.now() - timedelta(seconds=1))
    forget_unused_apps()

    assert before == (1, 1)
    assert not ApiKey.objects.exists()
    assert not ConnectedApp.objects.exists()


def test_a_refresh_may_ask_for_less_and_not_for_more(app: App) -> None:
    first = app.let_in(make_user())
    more = app.refresh(first["refresh_token"], scope="read admin")

    less = app.refresh(first["refresh_token"], scope="read").json()

    assert more.json()["error"] == "invalid_scope"
    assert less["scope"] == "read"
    assert "This app may not write." in _text(app.call(less["access_token"], message=STORE))


def test_a_token_that_is_given_back_ends_the_access_of_the_app(app: App) -> None:
    pair = app.let_in(make_user())

    answer = app.revoke(pair["refresh_token"])

    assert (answer.status_code, answer.text) == (200, "")
    assert app.call(pair["access_token"]).status_code == 401


def test_an_app_cannot_give_back_the_token_of_another(served: Served, app: App) -> None:
    pair = app.let_in(make_user())

    answer = App(served).revoke(pair["access_token"])

    assert answer.status_code == 200
    assert app.call(pair["access_token"]).status_code == 200


def test_a_key_that_a_person_revokes_closes_the_door_at_once(app: App) -> None:
    user = make_user()
    pair = app.let_in(user)

    revoke_key(ApiKey.objects.get(user=user))

    refused = app.call(pair["access_token"])
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]
    assert app.refresh(pair["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_session_answers_no_other_app_of_the_same_person(served: Served, app: App) -> None:
    user, other = make_user(), App(served)
    mine, theirs = app.let_in(user)["access_token"], other.let_in(user)["access_token"]
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    begun = app.http.post("/mcp/oauth", json=INITIALIZE, headers=headers | {"Authorization": f"Bearer {mine}"})

    headers |= {"Authorization": f"Bearer {theirs}", "Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
    answer = app.http.post("/mcp/oauth", json=TOOLS_LIST, headers=headers)

    assert answer.status_code == 404


# --- refusals ---------------------------------------------------------------------------------------------------


def _expired(pair: dict[str, Any]) -> None:
    AppToken.objects.filter(kind="access").update(expires_at=timezone.now() - timedelta(seconds=1))


def _user_gone(pair: dict[str, Any]) -> None:
    ApiKey.objects.get().user.__class__.objects.update(is_active=False)


def _moved(pair: dict[str, Any]) -> None:
    AppToken.objects.update(resource="https://elsewhere.example/mcp/oauth")


@pytest.mark.parametrize("happens", [_expired, _user_gone, _moved])
def test_a_token_opens_nothing_that_is_not_good_any_more(app: App, happens: Any) -> None:
    pair = app.let_in(make_user())

    happens(pair)

    assert app.call(pair["access_token"]).status_code == 401


def test_a_role_that_is_lowered_lowers_what_the_app_may(app: App) -> None:
    user = make_user(role=Role.CURATOR)
    token = app.let_in(user, scope="read curate")["access_token"]
    queue = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "memory_list_queue", "arguments": {}},
    }
    before = app.call(token, message=queue)
    user.role = Role.MEMBER
    user.save()

    after = app.call(token, message=queue)

    assert not before.json()["result"].get("isError"), before.text
    assert "A member may not" in _text(after)


def test_a_token_opens_neither_mcp_nor_rest_and_a_key_not_this_door(app: App) -> None:
    token, key = app.let_in(make_user())["access_token"], make_key().text

    at_mcp = app.call(token, path="/mcp")
    at_rest = app.http.get("/api/v1/facts/", headers={"Authorization": f"Bearer {token}"})
    with_key = app.call(key)

    assert at_mcp.status_code == 401
    assert "resource_metadata" not in at_mcp.headers["WWW-Authenticate"]
    assert at_rest.status_code == 401
    assert with_key.status_code == 401


def test_a_refresh_token_or_a_code_is_no_access_token(app: App) -> None:
    code = Browser(app.served, make_user()).way_back(app.page())["code"]

    assert app.call(code).status_code == 401
    assert app.call(app.exchange(code).json()["refresh_token"]).status_code == 401


def test_a_code_is_exchanged_once_and_shown_again_it_ends_the_access_it_gave(app: App) -> None:
    code = Browser(app.served, make_user()).way_back(app.page())["code"]
    pair = app.exchange(code).json()

    again = app.exchange(code)

    assert again.json()["error"] == "invalid_grant"
    assert app.call(pair["access_token"]).status_code == 401


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"code_verifier": "x" * 64}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:8765/elsewhere"}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"code": "bmc_unknown"}, "invalid_grant"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"client_id": "unknown"}, "invalid_client"),
    ],
)
def test_a_code_is_refused_with(app: App, said: dict[str, str], error: str) -> None:
    code = Browser(app.served, make_user()).way_back(app.page())["code"]

    answer = app.http.post(
        "/mcp/oauth/token",
        data={
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": app.redirect_uri,
            "code_verifier": app.verifier,
            "client_id": app.client_id,
        }
        | said,
    )

    assert answer.status_code in {400, 401}
    assert answer.json()["error"] == error
    assert not AppToken.objects.filter(kind="access").exists()


def test_a_code_of_one_app_is_nothing_to_another(served: Served, app: App) -> None:
    code = Browser(served, make_user()).way_back(app.page())["code"]
    other = App(served)
    other.verifier = app.verifier

    assert other.exchange(code).json()["error"] == "invalid_grant"


def test_a_code_that_is_too_old_is_refused(app: App) -> None:
    code = Browser(app.served, make_user()).way_back(app.page())["code"]
    AppToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert app.exchange(code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"state": "s" * 2001}, "invalid_request"),
    ],
)
def test_a_request_is_refused_to_the_app_itself(app: App, said: dict[str, str | None], error: str) -> None:
    answer = app.ask(**said)

    led_to = httpx.URL(answer.headers["Location"])
    assert str(led_to).startswith(REDIRECT)
    assert led_to.params["error"] == error
    assert led_to.params["iss"] == app.resource


@pytest.mark.parametrize(
    "said",
    [
        {"redirect_uri": "https://evil.example/back"},
        {"redirect_uri": "http://127.0.0.1:8765/elsewhere"},
        {"redirect_uri": "http://127.0.0.1.evil.example/back"},
        {"redirect_uri": "https://127.0.0.1:8765/back"},
        {"client_id": "unknown"},
        {"client_id": "\x00"},
    ],
)
def test_nobody_is_led_to_an_address_that_is_not_the_apps(app: App, said: dict[str, str | None]) -> None:
    answer = app.ask(**said)

    assert answer.status_code == 400
    assert "Location" not in answer.headers


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/back", "javascript:alert(1)", "data:text/html,x", "https://user@chat.example/back",
        "https://chat.example/back#part", "https://*.example/back", "https://",
    ],
)  # fmt: skip
def test_an_app_cannot_have_people_sent_to(served: Served, uri: str) -> None:
    answer = App(served, client_id="none").register(redirect_uris=[uri])

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("invalid_")
    assert not ConnectedApp.objects.exists()


def test_an_app_gets_no_secret_whatever_it_asks_for(served: Served) -> None:
    answer = App(served, client_id="none").register(token_endpoint_auth_method="client_secret_post")

    assert answer.status_code == 201
    assert answer.json()["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in answer.json()


def test_apps_that_introduce_themselves_without_end_are_asked_to_wait(served: Served) -> None:
    apps = [
        ConnectedApp(client_id=str(number), redirect_uris=[REDIRECT], introduced_from="127.0.0.1")
        for number in range(INTRODUCED_FROM_AN_ADDRESS)
    ]
    ConnectedApp.objects.bulk_create(apps)

    answer = App(served, client_id="none").register()

    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", ["token", "register", "revoke", "authorize"])
def test_nonsense_is_refused_and_breaks_nothing(served: Served, path: str) -> None:
    contents = (b"", b"{", b"\xff\xfe", b"client_id=%00", b"client_id=a&token=%00", b"x" * 70_000)
    kinds = ("application/x-www-form-urlencoded", "application/json", "multipart/form-data")

    with httpx.Client(base_url=f"{served.url}/mcp/oauth/") as client:
        answers = {
            (kind, content[:20]): client.post(path, content=content, headers={"Content-Type": kind})
            for kind, content in product(kinds, contents)
        }

    assert {sent: answer.text for sent, answer in answers.items() if not 400 <= answer.status_code < 500} == {}
    assert [sent for sent, answer in answers.items() if not answer.json()["error"]] == []


def test_another_host_is_misdirected(served: Served) -> None:
    answer = httpx.get(f"{served.url}{METADATA}", headers={"Host": "evil.example"})

    assert answer.status_code == 421

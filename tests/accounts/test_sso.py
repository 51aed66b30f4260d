"""The company's own sign-in, against a provider that runs beside the tests: who comes in, and who does not."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.test import Client
from django.urls import reverse, reverse_lazy
from pydantic import ValidationError

from accounts.models import Alert, AuditEvent, Invitation, Role, User
from accounts.people.invitations import invite
from accounts.services.alerts import alerts_of
from bigmind.environment import Environment
from tests.accounts.codes import with_second_factor
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, FORGED_KEY, OutsideProvider, outside_provider
from tests.factories import make_actor, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_cached")]

PASSWORD = "a horse, a battery, a staple"
ADA = {
    "sub": "4711",
    "email": "Ada@example.com",
    "email_verified": True,
    "name": "Ada Lovelace",
    "preferred_username": "ada",
}


@pytest.fixture
def provider(settings: Any) -> Iterator[OutsideProvider]:
    """A provider that vouches for Ada, and a BigMind that knows it."""
    with outside_provider() as running:
        running.claims = dict(ADA)
        settings.OIDC_ISSUER, settings.OIDC_NAME = running.url, "Example Inc."
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        yield running


def go_there(client: Client, wanted: str = "/keys/", *, address: str = "") -> str:
    """Follow the button to the provider, which sends back; return the address with the code."""
    there = client.get(address or reverse("sso", query={"next": wanted}))
    assert there.status_code == 302, there.text
    back = httpx.get(there["Location"])
    parts = urlsplit(back.headers["Location"])
    return f"{parts.path}?{parts.query}"


def come(client: Client | None = None, wanted: str = "/keys/") -> tuple[Client, Any]:
    """Sign in with the provider, all the way."""
    client = client or Client()
    return client, client.get(go_there(client, wanted))


def signed_in(client: Client) -> User | None:
    return User.objects.filter(pk=client.session.get("_auth_user_id")).first()


def invited(email: str = "ada@example.com", role: str = Role.CURATOR) -> Invitation:
    return invite(make_actor(admin=True), name="Ada L.", email=email, role=role).invitation


def vouched(**fields: Any) -> User:
    return make_user("countess", email="ada@example.com", is_email_vouched=True, **fields)


def test_whoever_was_invited_comes_in_for_the_first_time_as_what_they_were_invited_as(provider):
    invitation = invited()

    client, answer = come()

    ada = User.objects.get(username="ada")
    invitation.refresh_from_db()
    assert answer["Location"] == "/keys/"
    assert signed_in(client) == ada
    assert (ada.role, ada.display_name, ada.email) == (Role.CURATOR, "Ada L.", "Ada@example.com")
    assert not ada.has_usable_password()
    assert invitation.accepted_at
    assert AuditEvent.objects.get(event="invitation_accepted").about == ada
    assert client.get(reverse("sign-ins")).text.count("this one") == 1


def test_whoever_was_here_is_the_same_person_with_another_address(provider: OutsideProvider) -> None:
    invited()
    come()
    provider.claims.update(email="ada@married.example", email_verified=False, preferred_username="king")

    client, _ = come()

    assert signed_in(client) == User.objects.get(username="ada")


def test_whoever_is_here_with_an_address_an_admin_gave_is_linked_and_told(provider: OutsideProvider) -> None:
    countess = vouched(password=PASSWORD)

    client, _ = come()

    assert signed_in(client) == countess
    assert alerts_of(countess)[0].kind == Alert.Topic.SSO_LINKED


def test_whoever_gets_the_address_of_somebody_who_came_before_is_not_taken_for_them(provider: OutsideProvider) -> None:
    countess = vouched(password=PASSWORD)
    come()
    provider.claims["sub"] = "4712"

    client, answer = come()

    assert signed_in(client) is None
    assert answer.status_code == 403
    assert "Someone else signs in with Example Inc. under your e-mail address." in answer.text
    assert SocialAccount.objects.get(user=countess).uid == "4711"


def test_an_address_that_somebody_gave_themselves_links_nobody(provider: OutsideProvider) -> None:
    invited()
    make_user("mallory", email="ada@example.com")

    client, _ = come()

    assert signed_in(client) == User.objects.get(username="ada")
    assert not SocialAccount.objects.filter(user__username="mallory").exists()


@pytest.mark.parametrize("verified", [False, None, "false", 1, "yes"])
def test_an_unverified_address_lets_nobody_in(provider: OutsideProvider, verified: Any) -> None:
    provider.claims["email_verified"] = verified
    vouched()
    invited("ada@example.org")

    client, page = come()

    assert page.status_code == 403
    assert "does not say that your e-mail address is verified" in page.text
    assert signed_in(client) is None
    assert not SocialAccount.objects.exists()


def test_a_stranger_is_told_to_ask_for_an_invitation(provider: OutsideProvider) -> None:
    client, page = come()

    assert page.status_code == 403
    assert "You are not invited to this BigMind." in page.text
    assert not User.objects.exists()
    assert signed_in(client) is None


def test_anybody_of_the_allowed_domains_may_join_where_that_is_set(provider: OutsideProvider, settings: Any) -> None:
    settings.OIDC_JOIN, settings.OIDC_ALLOWED_DOMAINS = "anybody", ("example.com",)

    client, _ = come()
    provider.claims.update(sub="4712", email="eve@evil.example")
    foreign, page = come()

    assert (user := signed_in(client)) is not None
    assert user.role == Role.MEMBER
    assert page.status_code == 403
    assert "example.com" in page.text
    assert signed_in(foreign) is None


def test_a_foreign_domain_shuts_out_even_who_was_here_before(provider: OutsideProvider, settings: Any) -> None:
    invited()
    come()
    settings.OIDC_ALLOWED_DOMAINS = ("example.org",)

    client, page = come()

    assert page.status_code == 403
    assert signed_in(client) is None


def test_somebody_who_was_deactivated_is_refused_known_or_not(provider: OutsideProvider) -> None:
    countess = vouched()
    come()
    User.objects.filter(pk=countess.pk).update(is_active=False)

    known = come()
    SocialAccount.objects.all().delete()
    unknown = come()

    assert [page.status_code for _, page in (known, unknown)] == [403, 403]
    assert "deactivated" in known[1].text
    assert [signed_in(client) for client, _ in (known, unknown)] == [None, None]


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"sub": "4712"},
    ],
    ids=str,
)
def test_a_token_that_is_old_or_meant_for_others_lets_nobody_in(provider, changes):
    invited()
    provider.changes = changes

    client, page = come()

    assert page.status_code == 422
    assert "cannot be trusted" in page.text
    assert signed_in(client) is None


@pytest.mark.parametrize(
    ("key", "algorithm"), [(FORGED_KEY, "RS256"), (None, "none"), ("a shared secret of more than 32 bytes", "HS256")]
)
def test_a_forged_token_lets_nobody_in(provider: OutsideProvider, key: Any, algorithm: str) -> None:
    invited()
    provider.key, provider.algorithm = key, algorithm

    client, page = come()

    assert page.status_code == 422
    assert signed_in(client) is None


def test_userinfo_of_somebody_else_lets_nobody_in(provider: OutsideProvider) -> None:
    invited()
    provider.userinfo = {**ADA, "sub": "4712"}

    client, page = come()

    assert page.status_code == 422
    assert signed_in(client) is None


def test_another_browser_cannot_end_a_sign_in_and_nobody_ends_one_twice(provider: OutsideProvider) -> None:
    invited()
    first = Client()
    back = go_there(first)

    stolen = Client().get(back)
    first.get(back)
    first.post(reverse("sign-out"))
    again = first.get(back)

    assert [stolen.status_code, again.status_code] == [422, 422]
    assert "began in another browser" in stolen.text
    assert signed_in(first) is None


@pytest.mark.parametrize("query", ["", "?state=wrong&code=1", "?code=1", "?error=server_error", "?state=%00&code=%00"])
def test_a_callback_that_nobody_began_is_a_page_and_no_error(provider: OutsideProvider, query: str) -> None:
    page = Client().get(reverse("sso-callback") + query)

    assert page.status_code in {422, 502}
    assert "You could not be signed in" in page.text


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"])
@pytest.mark.parametrize("how", ["broken", "nonsense"])
def test_a_provider_that_is_down_or_answers_nonsense_is_told_on_a_page(provider, path, how):
    invited()
    client = Client()
    back = go_there(client)
    getattr(provider, how).add(path)

    pages = [client.get(back)]
    if path.startswith("/.well-known"):
        pages.append(client.get(reverse("sso")))

    assert all(page.status_code in {422, 502} for page in pages)
    assert all("You could not be signed in" in page.text for page in pages)
    assert signed_in(client) is None


def test_a_provider_that_is_not_there_is_told_on_a_page(settings: Any) -> None:
    settings.OIDC_ISSUER = "http://localhost:1"

    page = Client().get(reverse("sso"))

    assert page.status_code == 502
    assert "does not answer as it should" in page.text


def test_whoever_declines_is_back_at_the_sign_in(provider: OutsideProvider) -> None:
    provider.cancels = True

    client, answer = come()

    assert answer["Location"] == reverse("sign-in")
    assert "you stopped it there" in client.get(answer["Location"]).text


def test_pkce_nonce_and_scopes_are_ours_whatever_the_address_says(provider: OutsideProvider) -> None:
    client = Client()
    there = client.get(reverse("sso"), {"scope": "admin", "auth_params": "prompt=none", "process": "connect"})
    httpx.get(there["Location"])

    (asked,) = provider.asked
    assert asked["code_challenge_method"] == "S256"
    assert asked["nonce"]
    assert set(asked["scope"].split()) == {"openid", "profile", "email"}
    assert "prompt" not in asked
    assert asked["redirect_uri"].endswith("/sign-in/sso/callback/")


def test_nobody_is_sent_to_another_site_afterwards(provider: OutsideProvider) -> None:
    invited()

    _, answer = come(wanted="https://evil.example/")

    assert answer["Location"] == "/welcome/"


def test_groups_give_roles_at_each_sign_in_and_the_last_admin_stays(provider: OutsideProvider, settings: Any) -> None:
    settings.OIDC_ROLE_CLAIM, settings.OIDC_ROLES = "groups", {"brains": Role.CURATOR, "chiefs": Role.ADMIN}
    invited(role=Role.MEMBER)
    roles = []

    for groups in (["brains", "others"], ["brains", "chiefs"], "brains", ["others"], None, [7, {}]):
        provider.claims["groups"] = groups
        client, _ = come()
        roles.append(signed_in(client).role)  # type: ignore[union-attr]
    User.objects.exclude(username="ada").delete()
    User.objects.update(role=Role.ADMIN)
    client, _ = come()

    assert roles == [Role.CURATOR, Role.ADMIN, Role.CURATOR, Role.MEMBER, Role.MEMBER, Role.MEMBER]
    assert signed_in(client).role == Role.ADMIN  # type: ignore[union-attr]


def test_whoever_comes_from_the_provider_is_asked_for_no_code_and_demanded_none(provider, settings):
    settings.REQUIRE_MFA = "everybody"
    countess = vouched()
    client, _ = come()
    without = client.get(reverse("keys")).status_code
    with_second_factor(countess)

    again, answer = come()

    assert without == 200
    assert answer["Location"] == "/keys/"
    assert signed_in(again) == countess


def test_whoever_is_refused_again_and_again_has_to_wait(provider: OutsideProvider) -> None:
    answers = [come()[1].status_code for _ in range(11)]

    assert answers == [403] * 10 + [429]


def test_nothing_of_what_the_provider_tells_is_kept_but_who_it_is(provider: OutsideProvider) -> None:
    invited()
    come()
    come()

    account = SocialAccount.objects.get()
    assert (account.uid, account.provider, account.extra_data) == ("4711", provider.url, {})
    assert not SocialToken.objects.exists()


def test_a_row_in_the_database_makes_no_provider(provider: OutsideProvider, settings: Any) -> None:
    SocialApp.objects.create(
        provider="openid_connect", provider_id="evil", client_id="x", settings={"server_url": "http://localhost:1"}
    )

    assert Client().get(reverse("sso"))["Location"].startswith(provider.url)
    settings.OIDC_ISSUER = ""
    assert Client().get(reverse("sso")).status_code == 404
    assert Client().get(reverse("sso-callback")).status_code == 404


def test_the_sign_in_page_offers_it_only_where_it_is_set(provider: OutsideProvider, settings: Any) -> None:
    offered = Client().get(reverse("sign-in"), {"next": "/keys/"})
    settings.OIDC_ISSUER = ""
    plain = Client().get(reverse("sign-in"))

    assert "Sign in with Example Inc." in offered.text
    assert f"{reverse('sso')}?next=/keys/" in offered.text
    assert "Sign in with" not in plain.text


def test_nobody_but_one_admin_signs_in_with_a_password_where_they_are_off(provider, settings):
    settings.PASSWORDS_ONLY_FOR = "Glass"
    make_user("glass", role=Role.ADMIN, password=PASSWORD)
    make_user("grace", password=PASSWORD)
    glass, grace, linked = Client(), Client(), Client()

    answers = [
        client.post(reverse("sign-in"), {"username": name, "password": password})
        for client, name, password in ((glass, "glass", PASSWORD), (grace, "grace", PASSWORD), (grace, "eve", "x"))
    ]
    linked.force_login(User.objects.get(username="grace"))

    assert [answer.status_code for answer in answers] == [302, 422, 422]
    assert "Most people sign in with Example Inc. here" in answers[1].text
    assert "Most people sign in with Example Inc. here" in answers[2].text
    assert linked.get(reverse("password")).status_code == 409
    assert glass.get(reverse("password")).status_code == 200


def test_an_invitation_makes_no_password_where_they_are_off(provider: OutsideProvider, settings: Any) -> None:
    settings.PASSWORDS_ONLY_FOR = "glass"
    new = invite(make_actor(admin=True), email="ada@example.com")
    link = urlsplit(new.url).path
    said = {"username": "ada", "password": PASSWORD, "again": PASSWORD}

    page = Client().get(link)
    refused = Client().post(link, said)
    come()

    assert "Sign in with Example Inc." in page.text
    assert refused.status_code == 409
    assert not User.objects.get(username="ada").has_usable_password()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"oidc_issuer": "http://login.example.com", "oidc_client_id": "x"}, "https"),
        ({"oidc_issuer": "login.example.com", "oidc_client_id": "x"}, "https"),
        ({"oidc_issuer": "https://login.example.com"}, "BIGMIND_OIDC_CLIENT_ID"),
        ({"oidc_roles": "chiefs=king"}, "member, curator, admin"),
        ({"oidc_roles": "chiefs"}, "member, curator, admin"),
        ({"oidc_join": "anybody"}, "BIGMIND_OIDC_ALLOWED_DOMAINS"),
        ({"passwords_only_for": "glass"}, "BIGMIND_OIDC_ISSUER"),
        ({"oidc_client_secret": "x", "oidc_client_secret_file": "y"}, "exclude each other"),
        ({"oidc_client_secret_file": "/nowhere/secret"}, "cannot be read"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_work_is_refused_at_the_start(said: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Environment(**said)


def test_settings_are_read_as_people_write_them(tmp_path: Any) -> None:
    (tmp_path / "secret").write_text("hush\n")
    said = Environment(
        oidc_issuer="https://login.example.com/realms/main/",
        oidc_client_id="bigmind",
        oidc_client_secret_file=str(tmp_path / "secret"),
        oidc_allowed_domains=" Example.com, example.org ",
        oidc_roles="brains=curator, chiefs=admin",
    )

    assert said.oidc_issuer == "https://login.example.com/realms/main"
    assert said.oidc_secret == "hush"
    assert said.oidc_domains == ("example.com", "example.org")
    assert said.oidc_role_of_groups == {"brains": "curator", "chiefs": "admin"}


CONFIRMS = reverse_lazy("invite")


def come_as_admin(provider: OutsideProvider, authenticated_ago: float | None) -> Client:
    """Sign in by a provider that was asked nothing in this browser: it says when someone signed in there, or not."""
    invited(role=Role.ADMIN)
    provider.claims["auth_time"] = None if authenticated_ago is None else time.time() - authenticated_ago
    client, _ = come()
    return client


def come_again(client: Client) -> Any:
    """Follow the button of the page that asks for a confirmation, all the way."""
    page = client.get(client.get(CONFIRMS)["Location"])
    return client.get(go_there(client, address=page.context["again"]))


@pytest.mark.parametrize(("ago", "status"), [(10, 200), (20 * 60, 302), (None, 302), (-3600, 302)])
def test_a_sign_in_confirms_only_when_the_provider_has_just_asked(provider, ago, status):
    client = come_as_admin(provider, ago)

    assert client.get(CONFIRMS).status_code == status


def test_whoever_signs_in_again_at_the_provider_has_confirmed(provider: OutsideProvider) -> None:
    client = come_as_admin(provider, 3600)
    provider.claims["auth_time"] = str(int(time.time()))

    answer = come_again(client)

    assert (provider.asked[-1]["prompt"], provider.asked[-1]["max_age"]) == ("login", "0")
    assert answer["Location"] == CONFIRMS
    assert client.get(CONFIRMS).status_code == 200


@pytest.mark.parametrize(
    "claim",
    [None, "soon", [1], 10**400, float("nan"), time.time() - 600, time.time() * 1000],
    ids=["none", "a word", "a list", "huge", "no number", "earlier", "milliseconds"],
)
def test_a_provider_that_did_not_ask_again_confirms_nothing(provider: OutsideProvider, claim: Any) -> None:
    client = come_as_admin(provider, 3600)
    provider.claims["auth_time"] = claim

    page = come_again(client)

    assert page.status_code == 403
    assert "Example Inc. does not say that you have just signed in there." in page.text
    assert client.get(CONFIRMS).status_code == 302

"""The company's own sign-in at the running server, as its settings come from the environment."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pytest_django.plugin import DjangoDbBlocker

from accounts.models import Role
from accounts.people.invitations import invite
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, OutsideProvider, outside_provider
from tests.copies import serving_copy
from tests.factories import make_actor
from tests.serving import Served, end_its_database_sessions

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def provider() -> Iterator[OutsideProvider]:
    with outside_provider() as running:
        running.claims = {"sub": "4711", "email": "ada@example.com", "email_verified": True}
        yield running


@pytest.fixture
def served(
    provider: OutsideProvider, transactional_db: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> Iterator[Served]:
    """A BigMind whose environment names the provider."""
    secret = tmp_path / "secret"
    secret.write_text(f"{CLIENT_SECRET}\n")
    variables = {
        "BIGMIND_OIDC_ISSUER": provider.url,
        "BIGMIND_OIDC_CLIENT_ID": CLIENT_ID,
        "BIGMIND_OIDC_CLIENT_SECRET_FILE": str(secret),
        "BIGMIND_OIDC_NAME": "Example Inc.",
    }
    with serving_copy(tmp_path / "log.txt", **variables) as (running, _):
        yield running
    with django_db_blocker.unblock():
        end_its_database_sessions()


def test_from_the_button_to_the_page_that_was_wanted_and_away_when_the_provider_is(served, provider):
    invite(make_actor(admin=True), email="ada@example.com", role=Role.CURATOR)

    with httpx.Client(base_url=served.url, follow_redirects=True) as browser:
        offered = browser.get("/sign-in/")
        page = browser.get("/sign-in/sso/?next=/sign-ins/")
        provider.broken.add("/.well-known/openid-configuration")
        away = httpx.get(f"{served.url}/sign-in/sso/")

    assert "Sign in with Example Inc." in offered.text
    assert page.url.path == "/sign-ins/"
    assert "this one" in page.text
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert away.status_code == 502

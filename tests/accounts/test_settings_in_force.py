"""The page of settings: every one is shown with its source, and no secret is."""

import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from pydantic import SecretStr, ValidationError

from accounts.models import SettingOverride
from bigmind.environment import Environment, environment
from bigmind.environment.profile_sections import ProfileSection
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make_user("root", role="admin", display_name="Ruth Root"))
    return client


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Lets a test set variables; the settings are read again before and after it."""
    yield monkeypatch
    monkeypatch.undo()
    environment.cache_clear()


def test_every_setting_is_shown_and_no_secret_is(admin: Client, variables: pytest.MonkeyPatch) -> None:
    secrets = [name for name, field in Environment.model_fields.items() if field.annotation is SecretStr]
    for name in ("metrics_token", "budibase_api_key", "webhook_secret"):
        variables.setenv(f"BIGMIND_{name.upper()}", f"planted-{name}")
    variables.setenv("BIGMIND_WEBHOOK_URL", "https://ann:planted@hooks.example.com/planted/path?token=planted")
    environment.cache_clear()

    page = admin.get(reverse("system-settings")).text

    assert [name for name in Environment.model_fields if f"BIGMIND_{name.upper()}</code>" not in page] == []
    assert len(secrets) > 10
    assert "planted" not in page
    assert settings.SECRET_KEY not in page
    assert os.environ["BIGMIND_DATABASE_URL"] not in page


def test_the_page_of_settings_is_for_admins(client: Client) -> None:
    client.force_login(make_user(role="curator"))

    assert client.get(reverse("system-settings")).status_code == 403


def test_what_the_version_before_let_admins_choose_is_shown_until_its_variable_is_set(admin, variables):
    SettingOverride.objects.create(name="rate_limit", value=7)
    SettingOverride.objects.create(name="gaps", value=environment().gaps)
    line = "BIGMIND_RATE_LIMIT=7 was chosen on the page Settings, which counts no longer: set it in the environment."

    shown = admin.get(reverse("system-settings"), {"q": "rate_limit"}).text
    warned = admin.get(reverse("system")).text
    variables.setenv("BIGMIND_RATE_LIMIT", "50")
    environment.cache_clear()
    shown_after = admin.get(reverse("system-settings"), {"q": "rate_limit"}).text

    assert "To keep it, set <code>BIGMIND_RATE_LIMIT=7</code> and restart BigMind." in shown
    assert line in warned
    assert "BIGMIND_GAPS=" not in warned
    assert "To keep it" not in shown_after
    assert line not in admin.get(reverse("system")).text


@pytest.mark.parametrize(
    ("said", "meant"),
    [("", None), ("none", ()), ("who", ("who",)), (" who, badges ,", ("who", "badges"))],
)
def test_the_default_is_a_list_of_sections(said: str, meant: tuple[str, ...] | None) -> None:
    assert Environment(profile_sections=said).sections == meant


@pytest.mark.parametrize("said", ["whoo", "who,none", "WHO"])
def test_a_section_that_no_profile_has_is_refused_by_name(said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Environment(profile_sections=said)

    for section in ProfileSection:
        assert section.value in str(refusal.value)

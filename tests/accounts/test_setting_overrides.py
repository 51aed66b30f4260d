"""Settings in the page: every one is shown, secrets are not, and what needs no restart is changed for all processes."""

import asyncio
import os
from collections.abc import Iterator
from threading import Event, Thread
from time import monotonic, sleep

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from pydantic import SecretStr

from accounts.models import AuditEvent, SettingOverride
from accounts.services.setting_overrides import change_setting, follow_overrides, load_overrides
from bigmind.core.errors import Conflict, Forbidden, Invalid
from bigmind.environment import Environment, environment
from bigmind.environment.live_settings import live
from tests.factories import make_actor, make_user, rest_for_an_hour

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    live.replace_chosen({})


@pytest.fixture
def admin(client: Client) -> Client:
    user = make_user("root", role="admin", display_name="Ruth Root")
    user.set_password(PASSWORD)
    user.save()
    client.force_login(user)
    return client


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Lets a test set variables; the settings are read anew before and after it."""
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


def test_an_admin_confirms_changes_and_goes_back(
    admin: Client, django_capture_on_commit_callbacks: "pytest.FixtureRequest"
) -> None:
    change = reverse("system-setting", args=["rate_limit"])
    rest_for_an_hour(admin)
    asked = admin.get(change)
    assert asked.status_code == 302
    assert asked["Location"].startswith(reverse("confirm"))
    wrong = admin.post(reverse("confirm"), {"password": "no", "next": change})
    assert wrong.status_code == 422
    assert admin.post(reverse("confirm"), {"password": PASSWORD, "next": change})["Location"] == change

    with django_capture_on_commit_callbacks(execute=True):
        done = admin.post(change, {"value": "7"}, follow=True)

    assert "BIGMIND_RATE_LIMIT is 7 now" in done.text
    assert live.RATE_LIMIT_PER_MINUTE == 7
    event = AuditEvent.objects.get(event="setting_changed")
    assert event.details == {"setting": "rate_limit", "before": "600", "value": "7"}
    with django_capture_on_commit_callbacks(execute=True):
        admin.post(reverse("system-setting-reset", args=["rate_limit"]))
    assert live.RATE_LIMIT_PER_MINUTE == 600
    assert not SettingOverride.objects.exists()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("keep_calls_days", "5", "must be a whole number from 30 to 3,650; this is “5”"),
        ("rate_limit", "many", "must be a whole number, 0 or more; this is “many”"),
        ("secrets", "hide", "must be one of warn, redact, block; this is “hide”"),
        ("gaps", "perhaps", "must be true or false"),
        ("instance_name", "x" * 150, "at most 100 characters"),
    ],
)
def test_a_refusal_names_what_is_allowed(name: str, value: str, said: str) -> None:
    with pytest.raises(Invalid, match="value") as refusal:
        change_setting(make_actor(admin=True), name, value)

    assert said in str(refusal.value)


def test_only_admins_change_and_only_what_needs_no_restart(variables: pytest.MonkeyPatch) -> None:
    with pytest.raises(Forbidden):
        change_setting(make_actor(curator=True), "rate_limit", "7")
    with pytest.raises(Conflict, match="cannot be changed while BigMind runs"):
        change_setting(make_actor(admin=True), "require_mfa", "everybody")


def test_the_environment_wins_and_the_page_says_so(admin: Client, variables: pytest.MonkeyPatch) -> None:
    SettingOverride.objects.create(name="rate_limit", value=7)
    variables.setenv("BIGMIND_RATE_LIMIT", "50")
    environment.cache_clear()

    load_overrides()
    page = admin.get(reverse("system-settings"), {"q": "rate_limit"}).text

    assert live.RATE_LIMIT_PER_MINUTE == settings.RATE_LIMIT_PER_MINUTE
    assert "“7” was chosen on this page and does not count: the environment wins." in page
    with pytest.raises(Conflict, match="wins over this page"):
        change_setting(make_actor(admin=True), "rate_limit", "8")


@pytest.mark.django_db(transaction=True)
def test_another_process_takes_a_change_over_within_two_seconds() -> None:
    """A thread with a connection of its own stands for it: what it hears comes from the database alone."""
    actor, loop, begun = make_actor(admin=True), asyncio.new_event_loop(), Event()

    def follow() -> None:
        asyncio.set_event_loop(loop)
        tasks.append(loop.create_task(follow_overrides()))
        begun.set()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    tasks: list[asyncio.Task[None]] = []
    thread = Thread(target=follow)
    thread.start()
    begun.wait(5)
    sleep(0.3)
    with connection.cursor() as cursor:
        SettingOverride.objects.create(name="slow_ms", value=5, by=actor.user)
        cursor.execute("SELECT pg_notify('bigmind_settings', '')")
    deadline = monotonic() + 2
    while live.SLOW_MILLISECONDS != 5 and monotonic() < deadline:
        sleep(0.02)
    seen = live.SLOW_MILLISECONDS
    loop.call_soon_threadsafe(tasks[0].cancel)
    thread.join(5)

    assert seen == 5


def test_confirming_is_asked_again_after_a_while(admin: Client) -> None:
    assert admin.get(reverse("system-setting", args=["gaps"])).status_code == 200
    rest_for_an_hour(admin)

    assert admin.get(reverse("system-setting", args=["gaps"])).status_code == 302

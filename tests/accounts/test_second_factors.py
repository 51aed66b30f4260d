"""Second factors: set up by oneself, asked for at every door of people, reset by admins, demanded by a setting."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Alert, Role, User
from accounts.services.alerts import alerts_of, tell, unseen_alerts
from accounts.sign_in.attempts import TRIES
from accounts.sign_in.links import make_sign_in_link
from accounts.sign_in.second_factors import check_code, has_second_factor, reset_second_factor
from bigmind.core.errors import Invalid
from curation.models import Delivery
from curation.services.digests import send_digests
from tests.accounts.codes import code_of, enrol, secret_on, with_second_factor
from tests.factories import browser_of, make_actor, make_key, make_user
from tests.lock_waits import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_cached")]

PASSWORD = "a horse, a battery, a staple"
CODE = "/sign-in/code/"


@pytest.fixture
def ada() -> User:
    return make_user("ada", password=PASSWORD, role=Role.CURATOR)


@pytest.fixture
def browser(ada: User) -> Client:
    """A browser in which ada is signed in."""
    return browser_of(ada)


def sign_in(**said: str) -> Client:
    client = Client()
    client.post(reverse("sign-in"), {"username": "ada", "password": PASSWORD, **said})
    return client


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_it_is_set_up_with_the_password_and_the_first_code_and_shows_recovery_codes_once(browser, ada):
    _, page = enrol(browser, password=PASSWORD)
    again = browser.get(reverse("second-factor-set-up"))

    codes = re.findall(r"<li><code>(\d{8})</code></li>", page)
    assert len(set(codes)) == 10
    assert has_second_factor(ada)
    assert again["Location"] == reverse("second-factor")
    assert codes[0] not in browser.get(reverse("second-factor")).text
    assert alerts_of(ada)[0].kind == Alert.Topic.FACTOR_SET_UP


def test_the_picture_comes_with_the_page_and_the_secret_stays_until_the_code_is_right(browser: Client) -> None:
    first = browser.get(reverse("second-factor-set-up"))
    wrong = browser.post(reverse("second-factor-set-up"), {"code": "000000", "password": PASSWORD})

    assert 'src="data:image/svg+xml;base64,' in first.text
    assert "no-store" in first["Cache-Control"]
    assert wrong.status_code == 422
    assert "Must be the one that the app shows now" in wrong.text
    assert secret_on(wrong.text) == secret_on(first.text)


def test_a_browser_left_open_is_not_enough_to_set_one_up(browser: Client, ada: User) -> None:
    _, page = enrol(browser, password="guess")

    assert "That is not your password." in page
    assert not has_second_factor(ada)


def test_nothing_that_makes_codes_lies_in_the_database_as_text(browser: Client) -> None:
    secret, _ = enrol(browser, password=PASSWORD)
    browser.get(reverse("second-factor"))

    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(data::text, ' ') FROM mfa_authenticator")
        kept = cursor.fetchone()[0]
    assert secret.replace(" ", "") not in kept
    assert secret.replace(" ", "") not in str(dict(browser.session))


def test_other_browsers_are_signed_out_when_it_is_set_up(browser: Client, ada: User) -> None:
    other = sign_in()
    other.get(reverse("keys"))

    enrol(browser, password=PASSWORD)

    assert other.get(reverse("keys")).status_code == 302
    assert browser.get(reverse("keys")).status_code == 200


def test_the_password_alone_signs_nobody_in_any_more(ada: User) -> None:
    enrolment, _ = with_second_factor(ada)

    client = sign_in(next=reverse("keys"))
    before = is_signed_in(client)
    asked = client.get(CODE)
    page = client.post(CODE, {"code": code_of(enrolment.secret)})

    assert not before
    assert "ada" in asked.text
    assert page["Location"] == reverse("keys")
    assert is_signed_in(client)
    assert client.get(reverse("sign-ins")).text.count("this one") == 1


def test_a_link_asks_for_the_code_as_well(ada: User) -> None:
    enrolment, _ = with_second_factor(ada)
    client = Client()

    answer = client.post(reverse("sign-in-link", args=[make_sign_in_link(ada)]))
    before = is_signed_in(client)
    client.post(CODE, {"code": code_of(enrolment.secret)})

    assert answer["Location"] == CODE
    assert not before
    assert is_signed_in(client)


def test_a_code_counts_once(ada: User) -> None:
    enrolment, _ = with_second_factor(ada)
    code = code_of(enrolment.secret)
    sign_in().post(CODE, {"code": code})

    again = sign_in()
    page = again.post(CODE, {"code": code})

    assert page.status_code == 422
    assert not is_signed_in(again)


@pytest.mark.django_db(transaction=True)
def test_of_many_who_show_the_same_code_at_once_one_comes_in() -> None:
    ada = make_user("ada", password=PASSWORD)
    enrolment, _ = with_second_factor(ada)
    code = code_of(enrolment.secret)

    assert _count_accepted(ada, code, times=6) == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_who_show_the_same_recovery_code_at_once_one_comes_in() -> None:
    ada = make_user("ada", password=PASSWORD)
    _, codes = with_second_factor(ada)

    assert _count_accepted(ada, codes[0], times=6) == 1


def test_a_recovery_code_works_once_whatever_stands_between_its_digits_and_is_told(ada: User) -> None:
    _, codes = with_second_factor(ada)
    first, second = sign_in(), sign_in()

    first.post(CODE, {"code": f"{codes[3][:4]}-{codes[3][4:]}"})
    second.post(CODE, {"code": codes[3]})

    assert is_signed_in(first)
    assert not is_signed_in(second)
    assert alerts_of(ada)[0].kind == Alert.Topic.CODE_USED
    assert "<dd>9</dd>" in first.get(reverse("second-factor")).text


@pytest.mark.parametrize("code", ["", "12345", "abcdef", "000000", "٠١٢٣٤٥", "1" * 30])
def test_what_is_no_code_is_refused_in_words(ada: User, code: str) -> None:
    with_second_factor(ada)
    client = sign_in()

    page = client.post(CODE, {"code": code})

    assert page.status_code == 422
    assert not is_signed_in(client)


def test_after_ten_wrong_codes_even_the_right_one_has_to_wait_and_an_admin_lifts_it(ada: User) -> None:
    enrolment, _ = with_second_factor(ada)
    client = sign_in()
    wrong = [client.post(CODE, {"code": "000000"}).status_code for _ in range(TRIES)]
    elsewhere = Client(REMOTE_ADDR="192.0.2.99")
    elsewhere.post(reverse("sign-in"), {"username": "ada", "password": PASSWORD})

    locked = elsewhere.post(CODE, {"code": code_of(enrolment.secret)})
    root = browser_of(make_user("root", role=Role.ADMIN))
    seen = root.get(reverse("person", args=[ada.pk]))
    root.post(reverse("person-unlock", args=[ada.pk]))
    client.post(CODE, {"code": code_of(enrolment.secret)})

    assert wrong == [422] * TRIES
    assert locked.status_code == 429
    assert int(locked["Retry-After"]) > 0
    assert "or for a code; that ends" in seen.text
    assert is_signed_in(client)


def test_whoever_has_shown_no_password_is_asked_for_no_code(ada: User) -> None:
    with_second_factor(ada)

    page = Client().post(CODE, {"code": "000000"})

    assert page["Location"] == reverse("sign-in")


def test_a_password_that_was_changed_meanwhile_closes_the_second_step(ada: User) -> None:
    enrolment, _ = with_second_factor(ada)
    client = sign_in()
    ada.set_password("another horse, another staple")
    ada.save()

    page = client.post(CODE, {"code": code_of(enrolment.secret)})

    assert page["Location"] == reverse("sign-in")
    assert not is_signed_in(client)


def test_new_recovery_codes_need_a_code_and_end_the_old_ones(ada: User, browser: Client) -> None:
    enrolment, old = with_second_factor(ada)

    refused = browser.post(reverse("second-factor-codes"), {"code": "000000"})
    page = browser.post(reverse("second-factor-codes"), {"code": code_of(enrolment.secret)})
    client = sign_in()
    client.post(CODE, {"code": old[0]})

    assert refused.status_code == 422
    assert len(re.findall(r"<li><code>\d{8}</code></li>", page.text)) == 10
    assert not is_signed_in(client)


def test_it_is_removed_with_a_code_and_not_without(ada: User, browser: Client) -> None:
    enrolment, _ = with_second_factor(ada)

    refused = browser.post(reverse("second-factor-remove"), {"code": "000000"})
    kept = has_second_factor(ada)
    browser.post(reverse("second-factor-remove"), {"code": code_of(enrolment.secret)})

    assert (refused.status_code, kept) == (422, True)
    assert not Authenticator.objects.exists()
    assert is_signed_in(sign_in())


def test_an_admin_sees_who_has_one_and_resets_it_and_the_person_is_told(ada: User) -> None:
    with_second_factor(ada)
    signed_in = browser_of(ada)
    signed_in.get(reverse("keys"))
    root = browser_of(make_user("root", role=Role.ADMIN, display_name="Root"))

    people = root.get(reverse("people"))
    root.post(reverse("person-second-factor", args=[ada.pk]))
    page = root.get(reverse("person", args=[ada.pk]))

    assert people.text.count("<td>set up</td>") == 1
    assert not has_second_factor(ada)
    assert signed_in.get(reverse("keys")).status_code == 302
    assert (alerts_of(ada)[0].kind, alerts_of(ada)[0].by_name) == (Alert.Topic.FACTOR_RESET, "Root")
    assert "was reset by an admin" in page.text


def test_the_letter_about_a_reset_comes_once_also_where_somebody_marked_it_as_seen(ada: User, settings: Any) -> None:
    settings.EMAIL_HOST = "localhost"
    User.objects.filter(pk=ada.pk).update(email="ada@example.com")
    with_second_factor(ada)
    tell(ada, Alert.Topic.TEXT_REMOVED, "A text of yours was removed.")
    root = make_user("root", role=Role.ADMIN)
    reset_second_factor(make_actor(root), ada)
    as_ada = Client()
    as_ada.post(reverse("sign-in-link", args=[make_sign_in_link(ada)]))
    as_ada.post(reverse("notices-seen"))
    assert not unseen_alerts(ada).exists()

    queued = [send_digests(timezone.now() + timedelta(days=day)) for day in range(3)]

    assert queued == [1, 0, 0]
    letter = Delivery.objects.get(to=ada).body["text"]
    assert "Your second factor was reset by an admin." in letter
    assert "A text of yours" not in letter


def test_nobody_else_may_reset_it_and_no_admin_their_own(ada: User, browser: Client) -> None:
    root = make_user("root", role=Role.ADMIN)
    with_second_factor(root)
    admin = browser_of(root)

    refused = browser.post(reverse("person-second-factor", args=[root.pk]))
    own = admin.post(reverse("person-second-factor", args=[root.pk]), follow=True)

    assert refused.status_code == 403
    assert "That is your own second factor." in own.text
    assert has_second_factor(root)


def test_whoever_runs_the_machine_resets_it_on_the_command_line(ada: User) -> None:
    with_second_factor(ada)

    call_command("user_reset_second_factor", "ada", stdout=StringIO())

    assert is_signed_in(sign_in())
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("user_reset_second_factor", "ada", stdout=StringIO())


@pytest.mark.parametrize(
    ("demanded", "role", "led"),
    [
        ("nobody", Role.ADMIN, False),
        ("deciders", Role.MEMBER, False),
        ("deciders", Role.CURATOR, True),
        ("deciders", Role.ADMIN, True),
        ("everybody", Role.MEMBER, True),
    ],
)
def test_of_whom_it_is_demanded_can_do_nothing_else_in_the_browser(demanded, role, led, settings):
    settings.REQUIRE_MFA = demanded
    client = browser_of(make_user(role=role))

    answers = [client.get(reverse(name)) for name in ("home", "keys", "notices", "connect")]

    assert [answer.status_code == 302 and answer["Location"] == reverse("second-factor") for answer in answers] == [
        led
    ] * 4


def test_setting_it_up_opens_the_doors_and_keys_never_ask(ada: User, browser: Client, settings: Any) -> None:
    settings.REQUIRE_MFA = "everybody"
    key = make_key(ada)

    shown = {"Authorization": f"Bearer {key.text}"}
    by_key = Client().get("/api/v1/profile/", headers=shown)
    by_hook = browser.post("/hooks/codex/", "{}", "application/json", headers=shown)
    demanded = browser.get(reverse("second-factor"))
    enrol(browser, password=PASSWORD)

    assert by_key.status_code == by_hook.status_code == 200
    assert "requires two-factor authentication" in demanded.text
    assert browser.get(reverse("keys")).status_code == 200


def test_what_is_demanded_cannot_be_removed(ada: User, browser: Client, settings: Any) -> None:
    enrolment, _ = with_second_factor(ada)
    settings.REQUIRE_MFA = "deciders"

    page = browser.post(reverse("second-factor-remove"), {"code": code_of(enrolment.secret)})

    assert page.status_code == 409
    assert has_second_factor(ada)


def test_another_secret_key_is_said_in_words_and_not_as_an_error(ada: User, settings: Any) -> None:
    enrolment, _ = with_second_factor(ada)
    settings.SECRET_KEY = "another key, after the file was lost"
    moved = Client()
    moved.post(reverse("sign-in"), {"username": "ada", "password": PASSWORD})

    page = moved.post(CODE, {"code": code_of(enrolment.secret)})

    assert page.status_code == 422
    assert "the secret key of this BigMind has changed" in page.text


def test_a_code_is_right_after_the_secret_key_changed_while_the_one_before_is_a_fallback(ada, settings):
    enrolment, codes = with_second_factor(ada)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, after the first one was renewed"
    by_code, by_recovery_code = sign_in(), sign_in()

    by_code.post(CODE, {"code": code_of(enrolment.secret)})
    by_recovery_code.post(CODE, {"code": codes[0]})

    assert is_signed_in(by_code)
    assert is_signed_in(by_recovery_code)


def test_the_admin_shows_no_secret_and_takes_no_factor_away(ada: User) -> None:
    with_second_factor(ada)
    root = browser_of(make_user("root", role=Role.ADMIN))
    row = Authenticator.objects.filter(type="totp").get()

    page = root.get(reverse("admin:mfa_authenticator_change", args=[row.pk]))
    gone = root.post(reverse("admin:mfa_authenticator_delete", args=[row.pk]), {"post": "yes"})

    assert page.status_code == 200
    assert row.data["secret"] not in page.text
    assert gone.status_code == 403


def _count_accepted(user: User, code: str, *, times: int) -> int:
    """Show one code so often at once, and return how often it is taken."""

    def show(_: int) -> bool:
        try:
            check_code(user, code)
        except Invalid:
            return False
        return True

    return at_once(show, range(times)).count(True)

"""The first start of a container: user, password and key come from the environment, once."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pydantic import ValidationError

from accounts.authentication import authenticate_key
from accounts.keys import new_key_text
from accounts.models import ApiKey, Role, User
from accounts.people.first_run import Initial, first_run
from bigmind.core.errors import Invalid
from bigmind.embedded.home import CannotStart
from bigmind.embedded.up import initial
from bigmind.environment import Environment
from tests.factories import make_user

PASSWORD = "seven quiet lighthouses"


@pytest.mark.django_db
def test_the_first_user_has_the_password_and_the_key_that_were_given() -> None:
    key = new_key_text()

    first = first_run("ada", Initial(PASSWORD, key))

    client = Client()
    signed_in = client.post(reverse("sign-in"), {"username": "ada", "password": PASSWORD})
    assert signed_in.status_code == 302
    assert authenticate_key(key).user == first.user
    assert first.user.role == Role.ADMIN
    assert (first.key_text, first.is_new) == (None, True)


@pytest.mark.django_db
def test_a_second_start_changes_nothing_whatever_is_given_then() -> None:
    first_run("ada", Initial(PASSWORD, new_key_text()))
    before = (User.objects.get().password, ApiKey.objects.get().digest)

    again = first_run("eve", Initial("another long password", new_key_text()))

    assert (User.objects.get().password, ApiKey.objects.get().digest) == before
    assert (again.user.username, again.is_new) == ("ada", False)


@pytest.mark.django_db
def test_what_is_given_opens_no_instance_that_has_users() -> None:
    make_user("member")
    key = new_key_text()

    first = first_run("ada", Initial(PASSWORD, key))

    assert not first.user.has_usable_password()
    assert first.key_text not in (None, key)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("given", "told"),
    [(Initial("short"), "at least 12 characters"), (Initial(key_text="hunter2"), "BIGMIND_INIT_KEY is not")],
)
def test_what_cannot_be_used_is_refused_and_nobody_is_made(given: Initial, told: str) -> None:
    with pytest.raises(Invalid, match=told) as refused:
        first_run("ada", given)

    assert "hunter2" not in str(refused.value)
    assert not User.objects.exists()


def test_secrets_come_from_files_as_well(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")

    given = initial(Environment(init_password_file=str(file), init_key="bm_x"))  # type: ignore[arg-type]

    assert given == Initial(PASSWORD, "bm_x")


@pytest.mark.parametrize("content", [None, "\n"])
def test_a_file_that_says_nothing_stops_the_start(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_text(content)

    with pytest.raises(CannotStart, match="BIGMIND_INIT_KEY_FILE"):
        initial(Environment(init_key_file=str(file)))


def test_a_secret_is_given_once() -> None:
    said: dict[str, Any] = {"init_key": "bm_x", "init_key_file": "/run/secrets/key"}

    with pytest.raises(ValidationError, match="exclude each other"):
        Environment(**said)

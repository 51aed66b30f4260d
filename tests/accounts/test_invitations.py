"""Invitations: a link that makes one user, once, and only for as long as whoever made it is an admin."""

from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import Invitation, Role, User
from accounts.people.invitations import NewInvitation, accept_invitation, invite, list_invitations
from bigmind.core.errors import Conflict, Forbidden, Invalid, NotFound
from tests.embedded.instance import free_port
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "seven quiet lighthouses"


@pytest.fixture
def admin() -> Actor:
    return make_actor(make_user("root", role=Role.ADMIN))


def path_of(new: NewInvitation) -> str:
    return urlsplit(new.url).path


def token_of(new: NewInvitation) -> str:
    return path_of(new).strip("/").rpartition("/")[2]


def join(client: Client, new: NewInvitation, **said: str) -> Any:
    form = {"username": "ada", "display_name": "Ada", "password": PASSWORD, "again": PASSWORD, **said}
    return client.post(path_of(new), form)


def test_whoever_is_invited_chooses_name_and_password_and_is_signed_in(client: Client, admin: Actor) -> None:
    new = invite(admin, name="Ada", email="ada@example.com", role=Role.CURATOR)

    form = client.get(path_of(new))
    page = join(client, new)

    ada = User.objects.get(username="ada")
    assert 'value="ada"' in form.text
    assert page["Location"] == reverse("welcome")
    assert (ada.role, ada.email, ada.display_name) == (Role.CURATOR, "ada@example.com", "Ada")
    assert ada.check_password(PASSWORD)
    assert client.session["_auth_user_id"] == str(ada.pk)


def test_a_link_works_once(client: Client, admin: Actor) -> None:
    new = invite(admin, name="Ada")
    join(client, new)

    again = join(Client(), new, username="eve")

    assert again.status_code == 410
    assert not User.objects.filter(username="eve").exists()


def test_looking_at_a_link_does_not_use_it_up(client: Client, admin: Actor) -> None:
    new = invite(admin, name="Ada")

    client.get(path_of(new))
    client.head(path_of(new))

    assert list_invitations(admin).get() == new.invitation


def test_only_the_hash_of_the_link_is_stored(admin: Actor) -> None:
    new = invite(admin, name="Ada")

    stored = repr(Invitation.objects.filter(pk=new.invitation.pk).values().get())

    assert token_of(new) not in stored


def test_an_invitation_ends_after_a_week(client: Client, admin: Actor) -> None:
    new = invite(admin, name="Ada")
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    page = join(client, new)

    assert page.status_code == 410
    assert list(list_invitations(admin)) == []


def test_a_revoked_invitation_opens_nothing(client: Client, admin: Actor) -> None:
    new, root = invite(admin, name="Ada"), Client()
    root.force_login(admin.user)

    revoked = root.post(reverse("invitation-revoke", args=[new.invitation.pk]), follow=True)
    page = join(client, new)

    assert "opens nothing any more" in revoked.text
    assert page.status_code == 410


@pytest.mark.parametrize("change", [{"role": Role.MEMBER}, {"is_active": False}])
def test_an_invitation_counts_no_longer_than_its_maker_is_an_admin(admin: Actor, change: dict[str, Any]) -> None:
    new = invite(admin, name="A way back", role=Role.ADMIN)
    User.objects.filter(pk=admin.user.pk).update(**change)

    with pytest.raises(NotFound):
        accept_invitation(token_of(new), username="back", password=PASSWORD)


def test_the_newest_invitation_of_somebody_counts(admin: Actor) -> None:
    first = invite(admin, email="ada@example.com")

    second = invite(admin, email="Ada@example.com")

    assert list(list_invitations(admin)) == [second.invitation]
    with pytest.raises(NotFound):
        accept_invitation(token_of(first), username="ada", password=PASSWORD)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"again": "seven quiet lighthouse"}, "not the same"),
        ({"password": "short", "again": "short"}, "at least 12 characters"),
        ({"password": "qwerty123456", "again": "qwerty123456"}, "too common"),
        ({"username": "no/slash"}, "Enter a valid username"),
        ({"username": "ROOT"}, "There is a user “ROOT” already"),
        ({"username": ""}, "Choose a user name."),
    ],
)
def test_what_cannot_be_accepted_is_said_and_the_invitation_stays(client, admin, said, told):
    new = invite(admin, name="Ada")

    page = join(client, new, **said)

    assert page.status_code == 422
    assert told in page.text
    assert PASSWORD not in page.text
    assert list_invitations(admin).count() == 1


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "name"),
        ({"email": "nobody"}, "email"),
        ({"name": "two\nlines"}, "name"),
        ({"name": "A" * 201}, "name"),
        ({"email": f"{'a' * 60}@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 20}.com"}, "email"),
    ],
)
def test_nobody_is_invited_without_a_usable_name_or_address(admin: Actor, said: dict[str, str], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        invite(admin, **said)

    assert refused.value.problems[0]["field"] == field


def test_whoever_is_here_already_is_not_invited_again(admin: Actor) -> None:
    make_user("ada", email="ada@example.com")

    with pytest.raises(Conflict, match="already"):
        invite(admin, email="ADA@example.com")


@pytest.mark.parametrize("role", [Role.MEMBER, Role.CURATOR])
def test_only_admins_invite(client: Client, role: str) -> None:
    user = make_user(role=role)
    client.force_login(user)

    pages = [client.get(reverse("invite")), client.post(reverse("invite"), {"name": "Eve", "role": "admin"})]

    assert [page.status_code for page in pages] == [403, 403]
    assert not Invitation.objects.exists()
    with pytest.raises(Forbidden):
        invite(Actor.of(user), name="Eve")


def test_the_link_is_shown_once_and_it_is_said_that_no_mail_was_sent(client: Client, admin: Actor) -> None:
    client.force_login(admin.user)

    made = client.post(reverse("invite"), {"name": "", "email": "ada@example.com", "role": "member"})
    listed = client.get(reverse("people"))

    link = made.text.partition("/invitation/")[2].partition("/")[0]
    assert "No mail server is configured" in made.text
    assert len(link) == 32
    assert "no-store" in made["Cache-Control"]
    assert "ada@example.com" in listed.text
    assert link not in listed.text


def test_a_mail_server_that_is_away_is_said_and_the_link_is_there_all_the_same(client, admin, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "127.0.0.1", free_port(), False
    client.force_login(admin.user)

    made = client.post(reverse("invite"), {"email": "ada@example.com", "role": "member"})

    assert made.status_code == 200
    assert "the mail server refuses or is away" in made.text
    assert "/invitation/" in made.text


def test_the_command_prints_a_link_that_works(client: Client, admin: Actor) -> None:
    output, remarks = StringIO(), StringIO()

    call_command("user_invite", "Ada", "--role", "curator", stdout=output, stderr=remarks)

    page = client.get(urlsplit(output.getvalue().strip()).path)
    assert "root invites you as curator" in page.text
    assert "There is no e-mail address" in remarks.getvalue()

"""Names are no disguise: nobody is called like a role, like BigMind's own words, or like somebody else."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role, User
from accounts.people.first_run import first_run
from accounts.people.invitations import accept_invitation, invite
from accounts.people.names import is_reserved, require_own_name
from accounts.people.users import add_user, fresh_username
from bigmind.core.errors import Conflict, Invalid
from knowledge.people.first_steps import change_name
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db

OWN_WORDS = (
    *(
        "cur",
        "CUR",
        "curator",
        "Curator ",
        "admin",
        "ADMIN",
        "adm1n",
        "аdmin",
        "Ädmin",
        "ａｄｍｉｎ",
        "BigMind",
        "Bigmlnd",
    ),
    *("bіgmind", "B.i.g.M.i.n.d", "approved", "Approved", "αpproved", "system", "5ystem", "root", "Ada (admin)"),
    *("BigMind Support", "Verified: Ada", "Ada, curator"),
)
NAMES = (
    *(
        "Ada Lovelace",
        "Courtney Cox",
        "Curie",
        "Marie Curie",
        "Mo",
        "Ian",
        "Lan",
        "Admir",
        "Sistema",
        "Rooth",
        "Youssef",
    ),
    *("Jürgen", "Σωκράτης", "Владимир", "李小龍", "O'Neil", "Anna-Maria", "ada2", "Memo", "Agenta", "Staffan"),
)


@pytest.mark.parametrize("name", OWN_WORDS)
def test_a_word_of_bigminds_own_is_nobodys_name(name: str) -> None:
    assert is_reserved(name)
    with pytest.raises(Invalid, match="is a word of BigMind's own"):
        add_user("lovelace", display_name=name)
    with pytest.raises(Invalid, match="is a word of BigMind's own"):
        change_name(make_actor(), name=name)


@pytest.mark.parametrize("name", NAMES)
def test_ordinary_names_are_taken(name: str) -> None:
    assert add_user("lovelace", display_name=name).display_name == name


@pytest.mark.parametrize("name", ["cur", "Admin", "bigmind", "аdmin"])
def test_a_user_name_is_none_either(name: str) -> None:
    with pytest.raises(Invalid, match="username"):
        add_user(name)


@pytest.mark.parametrize("name", ["Lovelace", "LOVELACE", "lóvelace", "lоvеlасe", "ｌovelace"])
def test_nobody_looks_like_somebody_else(name: str) -> None:
    add_user("lovelace", display_name="Ada")

    with pytest.raises((Invalid, Conflict)):
        add_user(name)
    with pytest.raises(Invalid, match="looks like another user name"):
        add_user("somebody", display_name=name)


def test_two_people_may_share_a_display_name_and_a_person_keeps_their_own() -> None:
    first = add_user("lovelace", display_name="Ada Lovelace")
    add_user("lovelace-2", display_name="Ada Lovelace")

    change_name(make_actor(first), name="Lovelace")

    first.refresh_from_db()
    assert first.display_name == "Lovelace"


def test_a_name_from_before_stays(settings) -> None:
    settings.BIGMIND_MODE = "team"
    old = make_user(username="curator", display_name="BigMind")

    require_own_name("BigMind", field="name", user=old)
    change_name(make_actor(old), name="BigMind")

    assert User.objects.get(username="curator").display_name == "BigMind"


def test_an_invitation_gives_no_disguise() -> None:
    admin = make_actor(admin=True)
    token = invite(admin, name="Mallory").url.rstrip("/").rpartition("/")[2]

    with pytest.raises(Invalid, match="is a word of BigMind's own"):
        accept_invitation(token, username="mallory", display_name="Curator", password="correct horse battery")

    assert accept_invitation(token, username="mallory", password="correct horse battery").username == "mallory"


def test_the_admin_site_gives_none_either(client: Client) -> None:
    admin, person = make_actor(admin=True), make_user()
    client.force_login(admin.user)

    page = client.post(
        reverse("admin:accounts_user_change", args=[person.pk]),
        {"username": person.username, "display_name": "BigMind", "role": Role.MEMBER, "is_active": "on"},
    )

    person.refresh_from_db()
    assert person.display_name != "BigMind"
    assert page.status_code == 200


def test_the_operator_names_the_first_admin_as_they_like() -> None:
    assert first_run("admin").user.username == "admin"


def test_a_made_up_user_name_looks_like_nobodys() -> None:
    add_user("lovelace")

    assert fresh_username("Lоvеlасе") == "Lоvеlасе-2"


def test_who_signs_is_named_with_the_user_name() -> None:
    assert add_user("lovelace", display_name="Ada").signature == "Ada (lovelace)"
    assert add_user("cora", display_name="Cora").signature == "Cora"
    assert add_user("grace").signature == "grace"

"""Users: people who outlive their keys (seed 004, phase 1), through the commands and their services."""

import json
import uuid
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.authentication import BadKey, authenticate_key
from accounts.keys import create_key
from accounts.models import ApiKey, AuditEvent, Role, User
from accounts.people.first_run import first_run
from accounts.people.user_deletion import delete_user
from accounts.people.users import add_user, adopt_orphan_keys, link_key, set_role, unlink_key
from bigmind.core.errors import Conflict, Invalid
from knowledge.context.sessions import start_session
from knowledge.memory.facts import list_facts, store_fact
from knowledge.models import Fact, Passage, Session
from tests.commands import run
from tests.factories import make_actor, make_key, make_user
from tests.lock_waits import at_once

pytestmark = pytest.mark.django_db


def everything() -> list[Any]:
    """What people have stored, row by row."""
    return [list(model.objects.order_by("pk").values()) for model in (Session, Fact, Passage)]


def test_adding_a_user_prints_an_id_that_never_changes() -> None:
    user_id = run("user_add", "eric").strip()

    run("user_role", "eric", "curator")

    assert User.objects.get(username="eric").pk == uuid.UUID(user_id)


@pytest.mark.parametrize(
    ("said", "username", "shown"),
    [
        ("Eric's account", "erics-account", "Eric's account"),
        ("  Build   server ", "build-server", "Build   server"),
        ("jürgen", "jürgen", "jürgen"),
        ("José Ángel", "josé-ángel", "José Ángel"),
    ],
)
def test_a_description_becomes_a_user_name(said: str, username: str, shown: str) -> None:
    run("user_add", said)

    assert str(User.objects.get(username=username)) == shown


@pytest.mark.parametrize("said", ["", "  ", "!!!", "x" * 151, "a\0b", "Eric"])
def test_a_name_that_cannot_be_one_or_is_taken_whatever_its_case_is_refused(said):
    run("user_add", "eric")

    with pytest.raises(CommandError, match="already" if said == "Eric" else None):
        run("user_add", said)

    assert User.objects.get().username == "eric"


def test_the_list_shows_everyone_with_their_keys() -> None:
    make_key(make_user("eric", role=Role.CURATOR))

    (row,) = json.loads(run("user_list", "--json"))

    assert (row["username"], row["role"], row["usable_keys"]) == ("eric", "curator", 1)
    assert "eric" in run("user_list")


def test_deleting_a_user_takes_everything_they_own_and_nothing_else() -> None:
    gone, stays = make_actor(), make_actor()
    for actor in (gone, stays):
        start_session(actor)
        store_fact(actor, category="identity", fact="Is called Ada.")

    deleted = json.loads(run("user_delete", gone.user.username, "--yes", "--json"))["deleted"]

    assert (deleted["User"], deleted["Fact"], deleted["Session"]) == (1, 1, 1)
    assert {fact.user for fact in Fact.objects.all()} == {stays.user}
    assert {passage.owner for passage in Passage.objects.all()} == {stays.user}


def test_deleting_says_what_goes_and_does_nothing_unless_somebody_agrees(actor):
    store_fact(actor, category="identity", fact="Is called Ada.")
    told = StringIO()

    with pytest.raises(CommandError, match="--yes"):
        call_command("user_delete", actor.user.username, stderr=told)

    assert "1 fact" in told.getvalue()
    assert list_facts(actor).total == 1


def test_who_types_the_name_deletes_the_user_and_who_types_something_else_nobody(monkeypatch):
    make_user("eric")
    typed = iter(["yes", "eric"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: next(typed))

    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("user_delete", "eric")
    assert User.objects.filter(username="eric").exists()
    assert "Deleted 1 user" in run("user_delete", "eric")
    assert not User.objects.exists()


def test_the_last_admin_stays_while_there_are_others() -> None:
    admin = make_user("ada", role=Role.ADMIN)
    make_user("eric")

    with pytest.raises(CommandError, match="last admin"):
        run("user_delete", "ada", "--yes")
    assert User.objects.filter(pk=admin.pk).exists()

    make_user("eve", role=Role.ADMIN)
    delete_user(admin)

    assert not User.objects.filter(username="ada").exists()


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(Invalid, match="member, curator, admin"):
        set_role(make_user(), "owner")
    with pytest.raises(Invalid):
        add_user("eric", role="owner")


def test_a_role_is_given_by_name_or_id() -> None:
    user = make_user("eric")
    make_user("ada", role=Role.ADMIN)

    said = run("user_role", "eric", "curator")
    described = json.loads(run("user_role", str(user.pk), "admin", "--json"))

    assert said == "eric is curator now.\n"
    assert described["role"] == User.objects.get(username="eric").role == Role.ADMIN


def test_the_last_admin_is_not_demoted() -> None:
    make_user("ada", role=Role.ADMIN)
    make_user("off", role=Role.ADMIN, is_active=False)

    with pytest.raises(CommandError, match=r"ada is the last admin\. Make someone else an admin first\."):
        run("user_role", "ada", "member")

    assert User.objects.get(username="ada").role == Role.ADMIN


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_demote_each_other_at_once_one_stays() -> None:
    admins = [make_user(role=Role.ADMIN), make_user(role=Role.ADMIN)]

    def demote(user: User) -> None:
        with suppress(Conflict):
            set_role(user, Role.MEMBER)

    at_once(demote, admins)

    assert User.objects.filter(role=Role.ADMIN).count() == 1


@pytest.mark.parametrize("change", [{"role": "member", "is_active": "on"}, {"role": "admin"}])
def test_the_last_admin_is_neither_demoted_nor_deactivated_in_the_admin(client: Client, change: dict[str, str]) -> None:
    ada = make_user("ada", role=Role.ADMIN)
    client.force_login(ada)
    page = reverse("admin:accounts_user_change", args=[ada.pk])

    refused = client.post(page, {"username": "ada", **change})
    ada.refresh_from_db()
    before = (ada.role, ada.is_active)
    make_user("eve", role=Role.ADMIN)
    done = client.post(page, {"username": "ada", **change})

    assert "ada is the last admin." in refused.text
    assert before == (Role.ADMIN, True)
    assert done.status_code == 302


def test_a_key_is_unlinked_and_linked_by_hash_and_nothing_stored_changes() -> None:
    actor = make_actor(scopes=["read", "write"])
    store_fact(actor, category="identity", fact="Is called Ada.")
    other = make_user("eric")
    key, before = actor.key, everything()
    assert key is not None

    run("user_unlink", key.digest)
    run("user_link", "eric", key.digest)

    key.refresh_from_db()
    assert key.user == other
    assert everything() == before


def test_nobody_takes_a_key_by_mistake_and_an_unlinked_one_opens_nothing():
    key = make_key()

    with pytest.raises(Conflict, match="belongs to"):
        link_key(make_user(), key.key)
    with pytest.raises(CommandError, match="user_unlink"):
        run("user_link", make_user().username, str(key.key.pk))
    unlink_key(key.key)
    with pytest.raises(BadKey, match="linked to no active user"):
        authenticate_key(key.text)


@pytest.mark.parametrize("reference", ["id", "digest", "prefix", "text"])
def test_a_key_is_found_by_its_id_its_hash_or_how_it_begins(reference: str) -> None:
    key = make_key()
    user = make_user("eric")
    said = {"id": str(key.key.pk), "digest": key.key.digest, "prefix": key.key.prefix, "text": key.text}[reference]
    unlink_key(key.key)

    run("user_link", "eric", said)

    assert ApiKey.objects.get().user == user


def test_keys_without_a_user_get_one_each_on_start_and_keep_working() -> None:
    keys = [make_key(label="laptop"), make_key()]
    owners = [key.key.user for key in keys]
    ApiKey.objects.update(user=None)

    first_run("ada")
    again = first_run("ada")

    adopted = [authenticate_key(key.text).user for key in keys]
    assert len({user.pk for user in adopted}) == 2
    assert {user.role for user in adopted} == {Role.MEMBER}
    assert not {user.pk for user in adopted} & {user.pk for user in owners if user}
    assert str(adopted[0]) == "laptop"
    assert again.key_text is None
    assert User.objects.filter(role=Role.ADMIN).count() == 1


@pytest.mark.django_db(transaction=True)
def test_keys_are_adopted_in_one_transaction_whoever_asks_and_one_that_has_ended_is_not():
    key, ended = make_key().key, make_key().key
    ApiKey.objects.update(user=None)
    run("key_revoke", str(ended.pk))

    assert adopt_orphan_keys() == [key]


def test_a_key_that_was_unlinked_stays_closed_over_every_start_until_it_is_linked() -> None:
    key = make_key()
    ApiKey.objects.update(user=None)
    first_run("ada")

    told = StringIO()
    call_command("user_unlink", str(key.key.pk), stdout=StringIO(), stderr=told)
    for _ in range(2):
        first_run("ada")

    assert "until it is linked again" in told.getvalue()
    with pytest.raises(BadKey, match="linked to no active user"):
        authenticate_key(key.text)
    run("user_link", "ada", str(key.key.pk))
    assert authenticate_key(key.text).user.username == "ada"


def test_a_key_whose_user_was_taken_away_in_the_admin_stays_closed_too(client: Client) -> None:
    client.force_login(make_user("root", role=Role.ADMIN))
    key = make_key().key
    owner = key.user
    page = reverse("admin:accounts_apikey_change", args=[key.pk])
    form = {"scopes": "read", "toolsets": "", "label": "", "user": ""}

    client.post(page, form)

    assert ApiKey.objects.get().user is None
    assert adopt_orphan_keys() == []
    client.post(page, {**form, "user": str(make_user("eric").pk)})
    linked = ApiKey.objects.select_related("user").get()
    assert (str(linked.user), linked.unlinked_at) == ("eric", None)
    noted = AuditEvent.objects.filter(event__startswith="key_").order_by("number").values_list("event", "about_name")
    assert list(noted)[-2:] == [("key_unlinked", str(owner)), ("key_linked", "eric")]


@pytest.mark.parametrize("label", ["", "line\nbreak", "zero\u200bwidth"])
def test_no_label_and_no_name_that_is_taken_holds_up_the_start(label: str) -> None:
    key = make_key(label=label)
    make_user(f"key-{key.key.pk.hex[:12]}")
    ApiKey.objects.update(user=None)

    first_run("ada")

    assert authenticate_key(key.text).user.username == f"key-{key.key.pk.hex[:12]}-2"


def test_the_one_user_there_is_becomes_admin_again_where_none_is_left() -> None:
    ada = make_user("Ada")
    ApiKey.objects.update(user=None)

    first = first_run("ada")

    assert (first.user.pk, first.user.role) == (ada.pk, Role.ADMIN)
    assert first.key_text is not None


def test_nobody_becomes_admin_because_of_their_name_where_there_are_others() -> None:
    ada = make_user("ada")
    make_user("eve")

    first = first_run("ada")

    assert (first.user.username, first.user.role) == ("ada-2", Role.ADMIN)
    assert User.objects.get(pk=ada.pk).role == Role.MEMBER


def test_adoption_on_start_changes_nothing_that_was_stored() -> None:
    actor = make_actor(scopes=["read", "write"])
    store_fact(actor, category="identity", fact="Is called Ada.")
    ApiKey.objects.update(user=None)
    before = everything()

    first_run("ada")

    assert everything() == before


def test_the_first_start_makes_one_admin_with_one_key() -> None:
    first, second = first_run("ada"), first_run("eve")

    assert first.key_text is not None
    assert authenticate_key(first.key_text).user == first.user == second.user
    assert authenticate_key(first.key_text).scopes == {"read", "write", "curate", "admin"}
    assert second.key_text is None
    assert create_key(first.user).key.user == first.user

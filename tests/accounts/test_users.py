"""Users: people who outlive their keys (seed 004, phase 1), through the commands and their services."""

import json
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.authentication import BadKey, authenticate_key
from accounts.models import ApiKey, Role, User
from accounts.services.first_run import first_run
from accounts.services.keys import create_key
from accounts.services.users import add_user, adopt_orphan_keys, delete_user, link_key, set_role, unlink_key
from bigmind.core.errors import Conflict, Invalid
from knowledge.models import Fact, Passage, Session
from knowledge.services.facts import list_facts, store_fact
from knowledge.services.sessions import start_session
from tests.factories import make_actor, make_key, make_user

pytestmark = pytest.mark.django_db


def run(command: str, *arguments: str) -> str:
    """Run a command and return what a script would read."""
    output = StringIO()
    call_command(command, *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def everything() -> list[Any]:
    """What people have stored, row by row."""
    return [list(model.objects.order_by("pk").values()) for model in (Session, Fact, Passage)]


def test_adding_a_user_prints_an_id_that_never_changes() -> None:
    user_id = run("user_add", "eric").strip()

    user = User.objects.get(pk=uuid.UUID(user_id))
    set_role(user, Role.CURATOR)

    assert User.objects.get(username="eric").pk == user.pk


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


@pytest.mark.parametrize("said", ["", "  ", "!!!", "x" * 151, "a\0b"])
def test_a_name_that_cannot_be_one_is_refused(said: str) -> None:
    with pytest.raises(CommandError):
        run("user_add", said)

    assert not User.objects.exists()


def test_a_name_is_taken_whatever_its_case() -> None:
    run("user_add", "eric")

    with pytest.raises(CommandError, match="already"):
        run("user_add", "Eric")


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


def test_deleting_says_what_goes_and_does_nothing_unless_somebody_agrees() -> None:
    actor = make_actor()
    store_fact(actor, category="identity", fact="Is called Ada.")
    told = StringIO()

    with pytest.raises(CommandError, match="--yes"):
        call_command("user_delete", actor.user.username, stderr=told)

    assert "1 fact" in told.getvalue()
    assert list_facts(actor).total == 1


def test_who_types_the_name_deletes_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("eric")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: "eric")

    assert "Deleted 1 user" in run("user_delete", "eric")

    assert not User.objects.exists()


def test_who_types_something_else_deletes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("eric")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: "yes")

    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("user_delete", "eric")

    assert User.objects.filter(username="eric").exists()


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


def test_an_unlinked_key_opens_nothing() -> None:
    key = make_key()

    unlink_key(key.key)

    with pytest.raises(BadKey, match="linked to no active user"):
        authenticate_key(key.text)


def test_nobody_takes_a_key_by_mistake() -> None:
    key = make_key()

    with pytest.raises(Conflict, match="belongs to"):
        link_key(make_user(), key.key)
    with pytest.raises(CommandError, match="user_unlink"):
        run("user_link", make_user().username, str(key.key.pk))


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
    for key in keys:
        unlink_key(key.key)

    first_run("ada")
    again = first_run("ada")

    adopted = [authenticate_key(key.text).user for key in keys]
    assert len({user.pk for user in adopted}) == 2
    assert {user.role for user in adopted} == {Role.MEMBER}
    assert not {user.pk for user in adopted} & {user.pk for user in owners if user}
    assert str(adopted[0]) == "laptop"
    assert again.key_text is None
    assert User.objects.filter(role=Role.ADMIN).count() == 1


def test_a_key_that_has_ended_is_not_adopted() -> None:
    key = make_key().key
    unlink_key(key)
    run("key_revoke", str(key.pk))

    assert adopt_orphan_keys() == []


def test_adoption_on_start_changes_nothing_that_was_stored() -> None:
    actor = make_actor(scopes=["read", "write"])
    store_fact(actor, category="identity", fact="Is called Ada.")
    assert actor.key is not None
    unlink_key(actor.key)
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

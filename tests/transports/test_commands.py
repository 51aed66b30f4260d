"""The command line: what a script reads, what people read, and how a refusal ends."""

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, ManagementUtility, get_commands, load_command_class
from django.db import OperationalError, connection

from accounts.models import Agent, Role
from bigmind.management.base import OperatorCommand
from devtools.documents import DOCUMENTS
from knowledge.models import Fact
from tests.commands import run
from tests.copies import command_of_a_copy
from tests.factories import make_key, make_user

OURS = [
    "user_add", "user_invite", "user_list", "user_role", "user_reset_second_factor", "user_delete", "user_link",
    "user_unlink", "key_create", "key_text", "key_list", "key_rotate", "key_revoke", "sign_in_link", "op",
]  # fmt: skip
FACT = ("category=preference", "fact=Prefers pytest.")


@pytest.fixture
def owner(db: None) -> Any:
    """The one user of a personal BigMind."""
    return make_user("ada", role=Role.ADMIN)


@pytest.mark.parametrize("name", OURS)
def test_help_shows_examples(name: str) -> None:
    command = load_command_class(get_commands()[name], name)

    assert isinstance(command, OperatorCommand)
    text = command.create_parser("bigmind", name).format_help()

    assert "examples:" in text
    assert text.count(f"bigmind {name}") > 1


def test_a_refusal_is_one_line_and_the_exit_code_says_so() -> None:
    command = command_of_a_copy("op", "memory_stor_fact")
    unknown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    with pytest.raises(SystemExit) as misused:
        ManagementUtility(["bigmind", "key_rotate"]).execute()

    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr.startswith("Refused: There is no operation memory_stor_fact. Do you mean memory_store_fact")
    assert unknown.stderr.count("\n") == 1
    assert misused.value.code == 2


def test_a_database_that_is_away_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("password=hunter2")

    monkeypatch.setattr("bigmind.management.commands.user_list.list_users", away)

    with pytest.raises(CommandError, match=r"^The database does not answer\. .*BIGMIND_DATABASE_URL") as refusal:
        run("user_list")

    assert "hunter2" not in str(refusal.value)


def test_tables_that_are_missing_are_said_in_one_line(owner: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_user RENAME TO accounts_user_gone")

    with pytest.raises(CommandError, match="has no tables yet"):
        run("user_list")


def test_an_operation_is_performed_for_the_owner_of_a_personal_bigmind(owner: Any) -> None:
    text = run("op", "memory_store_fact", *FACT)

    assert "Prefers pytest." in text
    assert Fact.objects.get().user == owner
    assert Agent.objects.get().client_name == "bigmind-op"


def test_options_may_stand_between_the_name_of_an_operation_and_its_arguments(owner: Any) -> None:
    said = run("op", "memory_store_fact", "--user", str(owner), "category=preference", "--format", "json", "fact=Tea.")

    assert json.loads(said)["fact"]["fact"] == "Tea."


def test_what_a_session_is_stays_open_between_two_commands(owner: Any) -> None:
    run("op", "memory_start_session", "project=billing")
    run("op", "memory_flag_important", "content=It was the pool.")

    ended = json.loads(run("op", "memory_end_session", "one_liner=Found the leak", "--format", "json"))

    assert (ended["project"], ended["is_open"]) == ("billing", False)


def test_a_key_in_the_environment_says_whose_memory_is_meant(owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make_key()
    monkeypatch.setenv("BIGMIND_API_KEY", key.text)

    run("op", "memory_store_fact", *FACT)

    assert Fact.objects.get().user == key.key.user


def test_a_key_that_opens_nothing_is_refused(owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGMIND_API_KEY", "bm_wrong")

    with pytest.raises(CommandError, match="BIGMIND_API_KEY: This is not a BigMind key"):
        run("op", "memory_list_facts")


def test_with_many_users_somebody_must_be_named(owner: Any, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"

    with pytest.raises(CommandError, match="--user") as refusal:
        run("op", "memory_list_facts")

    assert refusal.value.returncode == 2
    assert json.loads(run("op", "memory_list_facts", "--user", "ada", "--format", "json"))["total"] == 0


@pytest.mark.parametrize("said", ["123", "true", '"quoted"', "[1]", "a=b"])
def test_a_text_is_taken_as_it_stands(owner: Any, said: str) -> None:
    run("op", "memory_store_fact", "category=preference", f"fact={said}")

    assert Fact.objects.get().fact == said


def test_what_is_not_a_text_is_json(owner: Any) -> None:
    reply = run("op", "memory_start_session", 'topics=["a", "b"]', "--format", "json")

    assert json.loads(reply)["session_id"]
    assert json.loads(run("op", "memory_list_facts", "limit=3", "--format", "json"))["limit"] == 3


def test_arguments_may_come_as_json(owner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.dumps({"category": "preference", "fact": "Prefers pytest."})
    (tmp_path / "fact.json").write_text(document)

    for arguments in (("--json", document), ("--json-file", str(tmp_path / "fact.json")), ("--json-file", "-")):
        monkeypatch.setattr("sys.stdin", StringIO(document))
        reply = json.loads(run("op", "memory_store_fact", *arguments, "--format", "json"))
        assert reply["fact"]["fact"] == "Prefers pytest."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fact",), "write name=value"),
        (("fact=a", "fact=b"), "given more than once"),
        (("--json", "[]"), "JSON object"),
        (("--json", '{"fact": 1, "fact": 2}'), "given more than once"),
        (("--json-file", "/no/such/file"), "cannot be read"),
    ],
)
def test_arguments_that_cannot_be_read_are_a_misuse(owner: Any, arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError, match=says) as refusal:
        run("op", "memory_store_fact", *arguments)

    assert refusal.value.returncode == 2


def test_a_write_with_an_idempotency_key_has_one_effect(owner: Any) -> None:
    for _ in range(2):
        run("op", "memory_add_hypothesis", "hypothesis=It is the pool.", "--idempotency-key", "try-1")

    assert json.loads(run("op", "memory_list_hypotheses", "--format", "json"))["total"] == 1


def test_the_list_tells_operations_and_the_arguments_of_one() -> None:
    assert "memory_store_fact" in run("op", "--list")
    assert "category" in run("op", "memory_store_fact", "--list")


def test_a_sign_in_link_is_printed_alone(owner: Any) -> None:
    link = run("sign_in_link")

    assert link.startswith("http://localhost:7700/sign-in/")
    assert link.count("\n") == 1
    assert json.loads(run("sign_in_link", "ada", "--json"))["user"] == "ada"


def test_stale_documents_fail_the_check_and_are_written_anew(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BASE_DIR, one = tmp_path, Path("docs/operations.md")
    # All of them are made where `test_parity.py` checks those of the repository.
    monkeypatch.setattr("devtools.management.commands.docs.DOCUMENTS", {one: DOCUMENTS[one]})

    with pytest.raises(CommandError, match=r"Stale: docs/operations\.md"):
        run("docs", "--check")
    run("docs")

    assert "Every document is up to date." in run("docs", "--check")
    assert "memory_store_fact" in (tmp_path / "docs" / "operations.md").read_text()

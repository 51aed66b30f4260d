"""Help trees: programs of this machine, and programs that misbehave, asked for their help."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bigmind.core.errors import Invalid
from knowledge.references.readers.help import command_tree as help_trees
from knowledge.references.readers.help.command_tree import NoHelp, generate_from_help, read_tree


@pytest.fixture
def program(tmp_path):
    """Return how to make a program of some lines of shell."""

    def make(*lines: str) -> str:
        path = tmp_path / "tool"
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def test_pip_is_asked_for_itself_and_its_subcommands(monkeypatch):
    monkeypatch.setattr(help_trees, "MOST_COMMANDS", 3)
    python = shutil.which("python3") or sys.executable
    if subprocess.run([python, "-c", "import pip"], capture_output=True).returncode:
        pytest.skip("no pip on this machine")

    made = generate_from_help([python, "-m", "pip"], name="pip")

    assert {"pip", "pip install"} <= {draft.name for draft in made.drafts}
    install = next(draft for draft in made.drafts if draft.name == "pip install")
    assert {"--requirement", "--no-deps", "--target"} <= {option.name for option in install.command.options}


def test_git_is_asked_for_its_short_help(monkeypatch):
    monkeypatch.setattr(help_trees, "MOST_COMMANDS", 20)

    made = generate_from_help(["git"])

    commit = next(draft for draft in made.drafts if draft.name == "git commit")
    amend = next(option for option in commit.command.options if option.name == "--amend")
    assert amend.description == "amend previous commit"
    assert commit.source == "git commit --help"


def test_a_program_of_the_environment_is_read_in_depth():
    ruff = str(Path(sys.executable).with_name("ruff"))

    made = generate_from_help([ruff])

    names = [draft.name for draft in made.drafts]
    assert "ruff check" in names
    assert "ruff analyze graph" in names
    assert next(draft for draft in made.drafts if draft.name == "ruff analyze").command.is_group


def test_mypy_without_subcommands_is_one_command():
    made = generate_from_help([sys.executable, "-m", "mypy"], name="mypy")

    assert [draft.name for draft in made.drafts] == ["mypy"]
    assert "--strict" in {option.name for option in made.drafts[0].command.options}


def test_a_recorded_tree_names_groups_and_what_is_below_them():
    texts = {
        (): "Usage: tool [command]\n\nCommands:\n  user   Manage users\n  ping   Say hello\n  help   Help\n",
        ("user",): "Usage: tool user [command]\n\nCommands:\n  add <name>  Add one\n",
        ("user", "add"): "Usage: tool user add <name> [--admin]\n\nOptions:\n  --admin  May do all\n",
        ("ping",): "Usage: tool ping\n",
    }

    made = read_tree("tool", lambda words: texts[tuple(words)])

    by_name = {draft.name: draft for draft in made.drafts}
    assert set(by_name) == {"tool", "tool user", "tool ping", "tool user add", "tool help"}
    assert by_name["tool user add"].command.syntax == "tool user add <name> [--admin]"
    assert by_name["tool user"].command.is_group
    assert by_name["tool user add"].key == "cmd-user-add"
    assert "cmd-user-add" in by_name["tool user"].related


def test_a_subcommand_without_help_is_kept_and_told():
    def ask(words):
        if words:
            raise NoHelp("it did not end within 20 seconds")
        return "Usage: tool\n\nCommands:\n  hang  Wait for ever\n"

    made = read_tree("tool", ask)

    assert [draft.name for draft in made.drafts] == ["tool", "tool hang"]
    assert made.problems[0].where == "tool hang --help"


def test_a_program_that_answers_everything_alike_does_not_grow_a_forest():
    made = read_tree("tool", lambda words: "Usage: tool\n\nCommands:\n  a  One\n  b  Two\n")

    assert [draft.name for draft in made.drafts] == ["tool", "tool a", "tool b"]


def test_an_endless_tree_is_cut_and_said():
    made = read_tree("tool", lambda words: f"Usage: tool {' '.join(words)}\n\nCommands:\n  more  Go on\n", deepest=3)

    assert len(made.drafts) == 4
    assert "deeper than 3" in made.problems[0].says


def test_a_wide_tree_stops_at_the_limit(monkeypatch):
    monkeypatch.setattr(help_trees, "MOST_COMMANDS", 5)
    listed = "\n".join(f"  c{number}  Do {number}" for number in range(50))

    made = read_tree(
        "tool", lambda words: f"Usage: tool {' '.join(words)}\n" + ("" if words else f"\nCommands:\n{listed}")
    )

    assert len(made.drafts) == 5
    assert "Stopped" in made.problems[-1].says


def test_a_program_that_is_not_there_is_refused():
    with pytest.raises(Invalid, match="no program `no-such-program-here`"):
        generate_from_help(["no-such-program-here"])


def test_a_program_that_never_ends_is_ended(program, monkeypatch):
    monkeypatch.setattr(help_trees, "SECONDS_EACH", 0.5)
    began = time.monotonic()

    with pytest.raises(Invalid, match="could not be read"):
        generate_from_help([program("sleep 60 & sleep 60")])

    assert time.monotonic() - began < 10


def test_output_without_end_is_cut(program):
    made = generate_from_help([program("echo 'Usage: tool'", "yes '  --again  Again'")])

    assert [option.name for option in made.drafts[0].command.options] == ["--again"]


def test_a_program_sees_no_secrets_and_no_input(program, monkeypatch):
    monkeypatch.setenv("BIGMIND_SECRET_KEY", "very secret")
    path = program('echo "Usage: tool"', 'echo "Options:"', 'echo "  --key-$BIGMIND_SECRET_KEY-end  $(cat)$HOME"')

    made = generate_from_help([path])

    assert [option.name for option in made.drafts[0].command.options] == ["--key--end"]
    assert os.environ["HOME"] not in made.drafts[0].content


def test_words_are_no_shell(program, tmp_path):
    path = program("echo 'Usage: tool'")

    generate_from_help([path, "; touch", str(tmp_path / "made; true")])

    assert [entry.name for entry in tmp_path.iterdir()] == ["tool"]


def test_a_manual_tells_what_a_short_help_leaves_out():
    manual = (
        "TOOL(1)\n\nNAME\n       tool - do it\n\nSYNOPSIS\n       tool [--deep] <file>\n\n"
        "OPTIONS\n       -d, --deep\n           Go down.\n"
    )

    made = read_tree("tool", lambda _: "usage: tool <file>\n", manual=lambda _: manual)

    (option,) = made.drafts[0].command.options
    assert (option.name, option.short, option.description) == ("--deep", "-d", "Go down.")


def test_the_manual_of_another_program_is_not_taken():
    other = "SYNOPSIS\n       gizmo [--deep]\n\nOPTIONS\n       --deep\n           Go down.\n"

    made = read_tree("tool", lambda _: "usage: tool <file>\n", manual=lambda _: other)

    assert made.drafts[0].command.options == ()


def test_commands_without_a_help_of_their_own_take_what_their_row_says_and_the_options_of_the_program():
    text = "tool [OPTIONS...] COMMAND\n\nUnit Commands:\n  start UNIT...   Start units\n  halt   Stop\n"
    text += "\nOptions:\n  --now  At once\n"

    made = read_tree("tool", lambda _: text)

    by_name = {draft.name: draft.command for draft in made.drafts}
    assert [argument.name for argument in by_name["tool start"].arguments] == ["UNIT..."]
    assert by_name["tool halt"].arguments == ()
    assert by_name["tool start"].inherits
    assert [option.name for option in by_name["tool"].options] == ["--now"]


@pytest.mark.parametrize(
    "said", ["Most used commands:", "Commands:\n  [ more ]      In a project", "Some of the options include:"]
)
def test_a_help_that_says_it_lists_only_some_is_partial(said):
    made = read_tree(
        "tool", lambda words: f"usage: tool <command>\n\n{said}\n  list - List all\n" if not words else "usage: x"
    )

    assert set(made.completeness.values()) == {"partial"}


def test_words_that_a_usage_offers_are_commands_each():
    text = "usage: tool (good|old) [<rev>...]\n   or: tool start [<path>]\n"

    made = read_tree("tool", lambda _: text)

    assert {"tool good", "tool old", "tool start"} <= {draft.name for draft in made.drafts}


def test_other_names_of_a_command_stand_in_its_help():
    texts = {
        (): "tool <command>\n\nAll commands:\n\n    config, install\n",
        ("install",): "Install\n\nUsage:\ntool install [<name> ...]\n\naliases: add, i\n",
        ("config",): "Usage:\ntool config set <key>\ntool config list\n\nalias: c\n",
    }

    made = read_tree("tool", lambda words: texts[tuple(words)])

    aliases = {draft.name: draft.aliases for draft in made.drafts}
    assert aliases["tool install"] == ("tool add", "tool i")
    assert aliases["tool config set"] == ("tool c set",)

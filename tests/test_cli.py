"""The `bigmind` command before it starts anything: its list, its version, what it makes of a typo, and completion."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import load_command_class

from bigmind import __version__
from bigmind.cli import main
from bigmind.command_list import COMMANDS, command_names, help_text
from bigmind.completion import completion_script

ROOT = Path(__file__).parent.parent
SPEAK_OTHERWISE = {"mcp": "JSON-RPC alone", "op": "`--format json`: its --json are the arguments"}
FOLDER = ROOT / "bigmind" / "management" / "commands"


def bigmind(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})


def test_the_list_has_every_command_once_and_each_has_a_sentence() -> None:
    assert sorted(command_names()) == sorted(file.stem for file in FOLDER.glob("[a-z]*.py"))
    assert all(sentence.endswith((".", "?")) for group in COMMANDS.values() for sentence in group.values())
    assert all(len(line) <= 120 for line in help_text().splitlines())


@pytest.mark.parametrize("asked", [[], ["help"], ["--help"]])
def test_help_and_version_need_no_settings_and_nothing_of_the_product(asked: list[str]) -> None:
    wrong = {"BIGMIND_PORT": "seven", "DJANGO_SETTINGS_MODULE": "nowhere"}

    assert bigmind(*asked, **wrong).stdout == help_text() + "\n"
    assert bigmind("--version", **wrong).stdout == f"bigmind {__version__}\n"
    loaded = "import sys; from bigmind.cli import main; main(); print(sorted({'django', 'pydantic'} & {*sys.modules}))"
    said = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert said.stdout.endswith("[]\n")


def test_a_typo_is_refused_with_the_nearest_command() -> None:
    refused = bigmind("sign-in-lnk")

    assert refused.returncode == 2
    assert refused.stderr == "bigmind: there is no command 'sign-in-lnk'. Did you mean `bigmind sign_in_link`?\n"


@pytest.mark.parametrize("name", command_names())
def test_every_command_speaks_json_and_says_by_its_exit_code_that_it_was_misused(name: str) -> None:
    parser = load_command_class("bigmind", name).create_parser("bigmind", name)
    parser.called_from_command_line = True
    options = {option: action for action in parser._actions for option in action.option_strings}

    with pytest.raises(SystemExit) as refused:
        parser.parse_args(["--no-such-option"])

    assert refused.value.code == 2
    if name not in SPEAK_OTHERWISE:
        assert options["--json"].const is True


def test_one_command_is_explained_and_djangos_are_listed_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_here(monkeypatch, "help", "up")
    assert "--only" in capsys.readouterr().out
    _run_here(monkeypatch, "help", "--django")
    assert "showmigrations" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("bigmind rest", "restore"), ("bigmind key_create --sc", "--scopes"), ("bigmind completion z", "zsh")],
)
def test_bash_completes_commands_and_options(typed: str, offered: str) -> None:
    words = typed.split()
    state = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}"
    asks = f'{completion_script("bash")}\n{state}; _bigmind; echo "${{COMPREPLY[@]}}"'

    assert subprocess.run(["bash", "-c", asks], capture_output=True, text=True).stdout.split() == [offered]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(completion_script(shell))

    assert all(f"{name}" in script.read_text() for name in command_names())
    if shutil.which(shell):
        assert not subprocess.run([shell, "-n", script], capture_output=True).returncode


def test_an_unknown_shell_is_refused_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        _run_here(monkeypatch, "completion", "ksh")

    assert capsys.readouterr().err == "bigmind: completion: name one shell: bash, zsh, fish.\n"


def _run_here(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["bigmind", *arguments])
    main()

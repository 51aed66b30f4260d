"""Help trees: the commands of an installed program, as its own `--help` tells them, down to the last subcommand.

Only an operator names the program, on the command line: it is run. It gets no shell, no standard input, a folder of
its own and an environment without the operator's secrets; time, output, depth and number are bounded.
"""

import os
import selectors
import shlex
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bigmind.core.errors import Invalid
from knowledge.generators.commands import FoundCommand, Program, drafts_of
from knowledge.generators.drafts import Generated, Trouble
from knowledge.generators.help_text import HelpText, Subcommand, read_help
from knowledge.generators.sources import Source

SECONDS_EACH = 20.0
SECONDS_ALTOGETHER = 600.0
MOST_COMMANDS = 1_000
DEEPEST = 6
LARGEST_OUTPUT = 400_000

_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV")
_NOT_ASKED = {"help"}
_ASK = Callable[[Sequence[str]], str]


class NoHelp(Exception):
    """A program did not say what it can do; the message says why."""


@dataclass
class _Walk:
    """One walk over a program's commands: what was found, and what is still to be asked."""

    ask: _ASK
    found: list[FoundCommand] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)


def generate(source: Source) -> Generated:
    """Make the references of a program's commands; the source is the program and what always follows it.

    Raises:
        Invalid: there is no such program, or it does not tell.
    """
    try:
        words = shlex.split(source.given)
    except ValueError as error:
        raise Invalid(f"`{source.given}` is no command line: {error}.") from error
    is_module = words[1:2] == ["-m"] and len(words) > 2
    return generate_from_help(words, name=words[2] if is_module else "")


def generate_from_help(command: Sequence[str], *, name: str = "", deepest: int = DEEPEST) -> Generated:
    """Run a program with `--help`, and its subcommands, and return what they say.

    Args:
        command: The program and what always follows it: `["python", "-m", "pip"]`.
        name: What people type for it; the program's file name when left out.
        deepest: How many words below the program are asked about.
    """
    if not command or not (path := shutil.which(command[0])):
        program = command[0] if command else ""
        raise Invalid(f"There is no program `{program}` here.", hint="Give a program on PATH, or its path.")
    with tempfile.TemporaryDirectory(prefix="bigmind-help-") as folder:
        # The path as it is: a resolved link would leave a virtual environment.
        argv = [str(Path(path).absolute()), *command[1:]]
        return read_tree(name or Path(command[0]).name, lambda words: _asked(argv, words, Path(folder)), deepest)


def read_tree(name: str, ask: _ASK, deepest: int = DEEPEST) -> Generated:
    """Ask for the help of a program and of all commands that it lists. `ask` takes the words after the program."""
    walk = _Walk(ask)
    ends = time.monotonic() + SECONDS_ALTOGETHER
    waiting: deque[tuple[tuple[str, ...], Subcommand]] = deque([((), Subcommand(name))])
    texts: dict[str, tuple[str, ...]] = {}
    while waiting:
        words, listed = waiting.popleft()
        if len(walk.found) >= MOST_COMMANDS or time.monotonic() > ends:
            walk.troubles.append(Trouble(where=name, says=f"Stopped with {len(waiting) + 1} commands not asked."))
            break
        waiting.extend(_visit(walk, name, words, listed, texts, deepest))
    if not walk.found:
        reason = walk.troubles[0].says if walk.troubles else "it printed nothing"
        raise Invalid(f"`{name} --help` could not be read: {reason}", hint="Run it by hand and look.")
    return Generated(drafts=drafts_of(walk.found, Program(name)), troubles=tuple(walk.troubles))


def _visit(
    walk: _Walk, name: str, words: tuple[str, ...], listed: Subcommand, texts: dict[str, tuple[str, ...]], deepest: int
) -> list[tuple[tuple[str, ...], Subcommand]]:
    where = " ".join((name, *words))
    try:
        text = walk.ask(words)
    except NoHelp as trouble:
        walk.troubles.append(Trouble(where=f"{where} --help", says=str(trouble)))
        if words:
            walk.found.append(FoundCommand((name, *words), summary=listed.summary, source=f"{name} --help"))
        return []
    said = read_help(text)
    # A program that answers every word with the same help knows no such subcommand.
    told_before = texts.setdefault(text.strip(), words)
    below = [] if told_before != words else [each for each in said.subcommands if each.name not in _NOT_ASKED]
    if told_before != words:
        said = HelpText(summary=listed.summary)
    if below and len(words) >= deepest:
        walk.troubles.append(Trouble(where=where, says=f"Has {len(below)} commands deeper than {deepest} words."))
    walk.found.append(_command(name, words, listed, said))
    return [((*words, each.name), each) for each in below] if len(words) < deepest else []


def _command(name: str, words: tuple[str, ...], listed: Subcommand, said: HelpText) -> FoundCommand:
    whole = (name, *words)
    before = " ".join(whole[:-1])
    return FoundCommand(
        words=whole,
        summary=listed.summary or said.summary,
        description=said.description or listed.summary,
        syntax=said.usages[0] if said.usages else "",
        options=said.options,
        arguments=() if said.subcommands else said.arguments,
        examples=said.examples,
        aliases=tuple(f"{before} {alias}" for alias in listed.aliases) if words else (),
        notes=("**Also:**\n```\n" + "\n".join(said.usages[1:]) + "\n```",) if len(said.usages) > 1 else (),
        source=" ".join((*whole, "--help")),
        is_group=bool(said.subcommands),
    )


def _asked(argv: Sequence[str], words: Sequence[str], folder: Path) -> str:
    """Return the help of a command: what `--help` prints, or `-h` where `--help` is not known or opens a manual."""
    reasons = []
    # git opens a manual page for `--help` behind a subcommand, which says nothing without a terminal.
    flags = ("-h", "--help") if words and Path(argv[0]).name == "git" else ("--help", "-h")
    for flag in flags:
        try:
            text = _output_of([*argv, *words, flag], folder)
        except NoHelp as reason:
            reasons.append(str(reason))
            continue
        if _looks_like_help(text):
            return text
        reasons.append("it printed nothing that reads like help")
    raise NoHelp(reasons[0].rstrip(".").capitalize() + ".")


def _looks_like_help(text: str) -> bool:
    said = read_help(text)
    return bool(said.usages or said.options or said.subcommands)


def _output_of(command: Sequence[str], folder: Path) -> str:
    try:
        process = subprocess.Popen(  # noqa: S603 - the operator names the program, and nothing goes through a shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        )
    except OSError as error:
        raise NoHelp(f"it could not be started: {error.strerror or error}") from error
    try:
        return _read(process).decode(errors="replace")
    finally:
        _end(process)


def _read(process: "subprocess.Popen[bytes]") -> bytes:
    """Read what a program prints, up to the limits of time and size."""
    ends = time.monotonic() + SECONDS_EACH
    output = process.stdout
    assert output is not None
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while sum(map(len, parts)) < LARGEST_OUTPUT:
            if not selector.select(timeout=max(0.0, ends - time.monotonic())):
                raise NoHelp(f"it did not end within {SECONDS_EACH:.0f} seconds")
            part = os.read(output.fileno(), 65_536)
            if not part:
                break
            parts.append(part)
    return b"".join(parts)[:LARGEST_OUTPUT]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and whatever it started."""
    try:
        os.killpg(process.pid, 9)
    except (ProcessLookupError, PermissionError):
        process.kill()
    if process.stdout:
        process.stdout.close()
    process.wait()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    plain = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}
    return {**kept, **plain, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

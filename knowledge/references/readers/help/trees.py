"""Help trees: the commands of an installed program, as its own `--help` tells them, down to the last subcommand.

Only an operator names the program, on the command line: it is run. It gets no shell, no standard input, a folder of
its own and an environment without the operator's secrets; time, output, depth and number are bounded.
"""

import os
import re
import selectors
import shlex
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bigmind.core.errors import Invalid
from knowledge.references.readers.commands import DocumentedProgram, FoundCommand, drafts_of, merge_options
from knowledge.references.readers.drafts import Generated, ReaderProblem
from knowledge.references.readers.help.text import HelpText, Subcommand, read_help
from knowledge.references.readers.help.usage import read_usage
from knowledge.references.readers.registry import Source
from knowledge.vocabulary import Completeness, ReferenceKind

SECONDS_EACH = 20.0
SECONDS_ALTOGETHER = 600.0
MOST_COMMANDS = 1_000
DEEPEST = 6
LARGEST_OUTPUT = 400_000

_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV")
_NOT_ASKED = {"help"}
# A module that is run tells how in the way it was: `/usr/bin/python3 -m pip install`.
_OF_PYTHON = re.compile(r"(?<!\S)\S{0,300}python[\d.]* -m (\S+)")
_ASK = Callable[[Sequence[str]], str]


class NoHelp(Exception):
    """A program did not say what it can do; the message says why."""


@dataclass
class _Walk:
    """One walk over a program's commands: what was found, and what is still to be asked."""

    ask: _ASK
    run: _ASK | None = None
    lists_all: bool = True
    found: list[FoundCommand] = field(default_factory=list)
    problems: list[ReaderProblem] = field(default_factory=list)


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
        return read_tree(
            name or Path(command[0]).name,
            lambda words: _ask(argv, words, Path(folder)),
            deepest,
            lambda words: _output_of([*argv, *words], Path(folder)),
        )


def read_tree(name: str, ask: _ASK, deepest: int = DEEPEST, run: _ASK | None = None) -> Generated:
    """Ask for the help of a program and of all commands that it lists. `ask` takes the words after the program.

    `run` runs the program with words as they stand: with it, a help that names a fuller one is read with that.
    """
    walk = _Walk(ask, run)
    ends = time.monotonic() + SECONDS_ALTOGETHER
    waiting: deque[tuple[tuple[str, ...], Subcommand]] = deque([((), Subcommand(name))])
    texts: dict[str, tuple[str, ...]] = {}
    while waiting:
        words, listed = waiting.popleft()
        if len(walk.found) >= MOST_COMMANDS or time.monotonic() > ends:
            walk.problems.append(ReaderProblem(where=name, says=f"Stopped with {len(waiting) + 1} commands not asked."))
            walk.lists_all = False
            break
        waiting.extend(_visit(walk, name, words, listed, texts, deepest))
    if not walk.found:
        reason = walk.problems[0].says if walk.problems else "it printed nothing"
        raise Invalid(f"`{name} --help` could not be read: {reason}", hint="Run it by hand and look.")
    # Of a walk that was cut short no list is known to be whole.
    state = Completeness.COMPLETE if walk.lists_all else Completeness.PARTIAL
    found = [replace(each, completeness=each.completeness if walk.lists_all else state) for each in walk.found]
    drafts = drafts_of(found, DocumentedProgram(name))
    return Generated(drafts=drafts, problems=tuple(walk.problems), completeness={ReferenceKind.COMMAND: state})


def _visit(
    walk: _Walk, name: str, words: tuple[str, ...], listed: Subcommand, texts: dict[str, tuple[str, ...]], deepest: int
) -> list[tuple[tuple[str, ...], Subcommand]]:
    where = " ".join((name, *words))
    try:
        text = walk.ask(words)
        text = _OF_PYTHON.sub(lambda found: name if found[1] == name else found[0], text)
    except NoHelp as problem:
        walk.problems.append(ReaderProblem(where=f"{where} --help", says=str(problem)))
        if words:
            walk.found.append(FoundCommand((name, *words), summary=listed.summary, source=f"{name} --help"))
        return []
    help_text = read_help(text) if words else _with_fuller_help(walk, name, read_help(text))
    # A program that answers every word with the same help knows no such subcommand.
    told_before = texts.setdefault(text.strip(), words)
    below = [] if told_before != words else [each for each in help_text.subcommands if each.name not in _NOT_ASKED]
    if told_before != words:
        help_text = HelpText(summary=listed.summary)
    if below and len(words) >= deepest:
        walk.problems.append(ReaderProblem(where=where, says=f"Has {len(below)} commands deeper than {deepest} words."))
        walk.lists_all = False
    walk.lists_all = walk.lists_all and (bool(words) or help_text.lists_all)
    from_usages = _from_usages((name, *words), help_text) if not help_text.subcommands else {}
    walk.found.append(_command(name, words, listed, help_text, from_usages))
    walk.found += from_usages.values()
    walk.found += [
        FoundCommand((name, *words, each.name), summary=each.summary, source=where + " --help")
        for each in help_text.subcommands
        if each.name in _NOT_ASKED and told_before == words
    ]
    return [((*words, each.name), each) for each in below] if len(words) < deepest else []


def _with_fuller_help(walk: _Walk, name: str, help_text: HelpText) -> HelpText:
    """Return the help of a program with what the fuller one says that it names, such as `git help -a`."""
    if walk.run is None or not help_text.fuller:
        return help_text
    try:
        fuller = read_help(walk.run(help_text.fuller))
    except NoHelp as problem:
        walk.problems.append(ReaderProblem(where=f"{name} {' '.join(help_text.fuller)}", says=str(problem)))
        return help_text
    if len(fuller.subcommands) <= len(help_text.subcommands) and len(fuller.options) <= len(help_text.options):
        return help_text
    subcommands = {each.name: each for each in (*help_text.subcommands, *fuller.subcommands)}
    return replace(
        help_text,
        subcommands=tuple(subcommands.values()),
        options=merge_options(help_text.options, fuller.options),
        lists_all=not _only_some(fuller, help_text),
    )


def _only_some(fuller: HelpText, help_text: HelpText) -> bool:
    """Whether the fuller help names one that is fuller still."""
    return not fuller.lists_all and fuller.fuller != help_text.fuller


def _from_usages(whole: tuple[str, ...], help_text: HelpText) -> dict[str, FoundCommand]:
    """Return the commands that only usage lines name: `git stash list`, `git stash drop [<stash>]`."""
    found: dict[str, FoundCommand] = {}
    lines = [line for usage in help_text.usages if (line := read_usage(usage)).words[: len(whole)] == whole]
    for line in lines:
        word = next(iter((*line.words[len(whole) :], *line.behind)), "")
        # A program of one command may have words of its own there.
        if word and len(lines) > 1 and (word not in found or len(line.text) > len(found[word].syntax)):
            found[word] = FoundCommand(
                (*whole, word),
                syntax=line.text,
                options=tuple(option.model_copy(update={"required": False}) for option in line.options),
                arguments=tuple(argument.model_copy(update={"required": False}) for argument in line.arguments),
                source=" ".join((*whole, "--help")),
                completeness=Completeness.PARTIAL,
            )
    return found


def _does_something_alone(whole: tuple[str, ...], help_text: HelpText) -> bool:
    """Whether a usage line needs no further word: there is none, or it is optional, as in `git stash [push …]`."""
    name = " ".join(whole)
    lines = [read_usage(usage) for usage in help_text.usages]
    return any(
        (line.text.startswith(f"{name} [") and line.text[len(name) + 2 :][:1].isalpha())
        or (line.words == whole and not line.behind and not any(each.required for each in line.arguments))
        for line in lines
    )


def _command(
    name: str, words: tuple[str, ...], listed: Subcommand, help_text: HelpText, from_usages: dict[str, FoundCommand]
) -> FoundCommand:
    whole = (name, *words)
    alone = bool(from_usages) and _does_something_alone(whole, help_text)
    below = "[<command>]" if alone else "<command>"
    whole_list = help_text.subcommands and help_text.lists_all
    before = " ".join(whole[:-1])
    return FoundCommand(
        words=whole,
        summary=listed.summary or help_text.summary,
        description=help_text.description or listed.summary,
        syntax=f"{' '.join(whole)} {below}" if from_usages else _syntax(whole, help_text),
        options=help_text.options,
        arguments=() if help_text.subcommands or from_usages else help_text.arguments,
        examples=help_text.examples,
        aliases=tuple(f"{before} {alias}" for alias in listed.aliases) if words else (),
        notes=("**Usage:**\n```\n" + "\n".join(help_text.usages) + "\n```",) if len(help_text.usages) > 1 else (),
        source=" ".join((*whole, "--help")),
        is_group=bool(help_text.subcommands or from_usages) and not alone,
        holds_commands=alone,
        # A help text may keep options back; the commands that it lists are those there are, unless it says otherwise.
        completeness=Completeness.COMPLETE if whole_list else Completeness.PARTIAL,
    )


def _syntax(whole: tuple[str, ...], help_text: HelpText) -> str:
    """Return the first usage line; openssl leaves the program out of it."""
    first = help_text.usages[0] if help_text.usages else ""
    return f"{whole[0]} {first}" if first.split()[: len(whole) - 1] == [*whole[1:]] and whole[1:] else first


def _ask(argv: Sequence[str], words: Sequence[str], folder: Path) -> str:
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
    help_text = read_help(text)
    return bool(help_text.usages or help_text.options or help_text.subcommands)


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

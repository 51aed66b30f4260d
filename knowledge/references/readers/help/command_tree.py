"""Help trees: the commands of an installed program, as its own `--help` lists them, down to the last subcommand.

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
from functools import cache
from pathlib import Path

from bigmind.core.errors import Invalid
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.commands import DocumentedProgram, FoundCommand, drafts_of, merge_options
from knowledge.references.readers.help.text import HelpText, Subcommand, read_help
from knowledge.references.readers.help.usage import read_usage, usage_lines
from knowledge.references.readers.program_names import bin_of, program_of, require_name
from knowledge.references.readers.reference_drafts import Generated, Option, ReaderProblem
from knowledge.references.readers.registry import Source

SECONDS_EACH = 20.0
SECONDS_ALTOGETHER = 600.0
MOST_COMMANDS = 1_000
DEEPEST = 6
LARGEST_OUTPUT = 400_000

_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV")
_NOT_ASKED = {"help"}
# A module that is run tells how in the way it was: `/usr/bin/python3 -m pip install`.
_OF_PYTHON = re.compile(r"(?<!\S)\S{0,300}python[\d.]* -m (\S+)")
_PATH_OF_PROGRAM = re.compile(r"(?<!\S)/(?:[^\s/]{1,100}/){1,20}([^\s/]+)(?!\S)")
_A_COMMAND = re.compile(r"(?:sub-?)?(?:command|cmd)s?|action|verb|object", re.I)
_ASK = Callable[[Sequence[str]], str]


class NoHelp(Exception):
    """A program printed no usable help; the message says why."""


@dataclass
class _Walk:
    """One walk over a program's commands: what was found, and what is still to be asked."""

    ask: _ASK
    run: _ASK | None = None
    manual: _ASK | None = None
    lists_all: bool = True
    inherits: bool = False
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
    name = source.program or (words[2] if is_module else "")
    if not name and len(words) > 1:
        of_code = Path(words[-1])
        name = require_name(bin_of(of_code) or program_of(of_code), source.given)
    return generate_from_help(words, name=name)


def generate_from_help(command: Sequence[str], *, name: str = "") -> Generated:
    """Run a program with `--help`, and its subcommands, and return what they say.

    Args:
        command: The program and what always follows it: `["python", "-m", "pip"]`.
        name: What people type for it; the program's file name when left out.
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
            run=lambda words: _output_of([*argv, *words], Path(folder)),
            manual=lambda words: _manual_of([name or Path(command[0]).name, *words], Path(folder)),
        )


def read_tree(
    name: str, ask: _ASK, deepest: int = DEEPEST, run: _ASK | None = None, manual: _ASK | None = None
) -> Generated:
    """Ask for the help of a program and of all commands that it lists. `ask` takes the words after the program.

    `run` runs the program with words as they stand: with it, a help that names a fuller one is read with that.
    `manual` returns the manual page of a command, from which comes what its help leaves out.
    """
    walk = _Walk(ask, run, manual)
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
    drafts = drafts_of(_with_other_groups(found), DocumentedProgram(name))
    return Generated(drafts=drafts, problems=tuple(walk.problems), completeness={ReferenceKind.COMMAND: state})


def _with_other_groups(found: list[FoundCommand]) -> list[FoundCommand]:
    """Return the commands with the other names of their groups: `npm c list` beside `npm config list`."""
    others = {each.name: each.aliases for each in found if each.aliases and (each.is_group or each.holds_commands)}
    return [
        replace(each, aliases=(*each.aliases, *(f"{group} {each.words[-1]}" for group in groups)))
        if (groups := others.get(" ".join(each.words[:-1]), ()))
        else each
        for each in found
    ]


def _visit(
    walk: _Walk, name: str, words: tuple[str, ...], listed: Subcommand, texts: dict[str, tuple[str, ...]], deepest: int
) -> list[tuple[tuple[str, ...], Subcommand]]:
    where = " ".join((name, *words))
    try:
        text = _ask_for_help(walk, name, words)
    except NoHelp as problem:
        walk.problems.append(ReaderProblem(where=f"{where} --help", says=str(problem)))
        if words:
            walk.found.append(FoundCommand((name, *words), summary=listed.summary, source=f"{name} --help"))
        return []
    # A program that answers every word with the same help has none for this one: only the list above tells of it, and
    # its options are those of the program (`inherits`). Decision 42.
    told_before = texts.setdefault(text.strip(), words) != words
    help_text = _from_the_list(where, listed) if told_before else read_help(text, where)
    # tsc lists lines to type, each with the program in front.
    listed_here = tuple(each for each in help_text.subcommands if each.name != name)
    help_text = replace(help_text, subcommands=listed_here)
    if not words:
        help_text = _with_fuller_help(walk, name, help_text)
        walk.lists_all = walk.lists_all and help_text.lists_all
        walk.inherits = help_text.options_for_all
        if not help_text.subcommands and _takes_a_command(help_text.arguments):
            walk.problems.append(ReaderProblem(where=where, says="Takes a command, and its help lists none."))
            walk.lists_all = False
    help_text = _with_manual(walk, (name, *words), help_text)
    below = [each for each in help_text.subcommands if each.name not in _NOT_ASKED]
    if below and len(words) >= deepest:
        walk.problems.append(ReaderProblem(where=where, says=f"Has {len(below)} commands deeper than {deepest} words."))
        walk.lists_all = False
    from_usages = _from_usages((name, *words), help_text) if not help_text.subcommands else {}
    found = _command(name, words, listed, help_text, from_usages)
    walk.found.append(replace(found, inherits=walk.inherits or told_before) if words else found)
    walk.found += from_usages.values()
    walk.found += [_help_command((name, *words), each) for each in help_text.subcommands if each.name in _NOT_ASKED]
    if not words and help_text.fuller[:1] == ("options",):
        walk.found.append(FoundCommand((name, "options"), summary="List the options of all commands.", source=where))
    # Where no command of a list shows what it takes, each may take anything.
    takes = "" if any(each.takes for each in below) else "[ARGUMENT...]"
    rows = [replace(each, takes=each.takes or takes) for each in below]
    return [((*words, *each.name.split()), each) for each in rows] if len(words) < deepest else []


def _ask_for_help(walk: _Walk, name: str, words: tuple[str, ...]) -> str:
    text = walk.ask(words)
    for pattern in (_OF_PYTHON, _PATH_OF_PROGRAM):
        text = pattern.sub(lambda found: name if found[1] == name else found[0], text)
    return text


def _help_command(above: tuple[str, ...], listed: Subcommand) -> FoundCommand:
    return FoundCommand(
        (*above, listed.name),
        summary=listed.summary,
        arguments=(Option(name="[COMMAND...]"),),
        source=f"{' '.join(above)} --help",
        completeness=Completeness.PARTIAL,
    )


def _from_the_list(name: str, listed: Subcommand) -> HelpText:
    usage = f"{name} {listed.takes}".strip()
    line = read_usage(usage)
    options = _never_required(line.options)
    return HelpText(summary=listed.summary, usages=(usage,), options=options, arguments=line.arguments)


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
        usages=fuller.usages if fuller.subcommands and fuller.usages else help_text.usages,
        arguments=() if subcommands else help_text.arguments,
        subcommands=tuple(subcommands.values()),
        options=merge_options(help_text.options, fuller.options),
        lists_options=help_text.lists_options or fuller.lists_options,
        lists_all=help_text.lists_all or not _only_some(fuller, help_text),
        options_for_all=help_text.options_for_all or fuller.options_for_all,
    )


def _with_manual(walk: _Walk, whole: tuple[str, ...], help_text: HelpText) -> HelpText:
    """Return the help of a command with the options, usages and commands that only its manual page tells.

    With help alone, one true line in twenty was taken for wrong. Decision 42.
    """
    if walk.manual is None:
        return help_text
    try:
        page = read_help(walk.manual(whole[1:]))
    except NoHelp:
        page = HelpText()
    usages = tuple(usage for usage in page.usages if usage.split()[: len(whole)] == [*whole])
    if not usages:
        # Who has no manual for the program has none for its commands.
        walk.manual = walk.manual if len(whole) > 1 else None
        return help_text
    listed = {name for each in help_text.subcommands for name in (each.name, *each.aliases)}
    return replace(
        help_text,
        usages=tuple(dict.fromkeys((*help_text.usages, *usages))),
        options=_never_required(merge_options(help_text.options, page.options)),
        arguments=_arguments_of_all(help_text, page),
        subcommands=(
            *help_text.subcommands,
            *(each for each in page.subcommands if listed and each.name not in listed),
        ),
    )


def _never_required(options: tuple[Option, ...]) -> tuple[Option, ...]:
    return tuple(option.model_copy(update={"required": False}) for option in options)


def _arguments_of_all(help_text: HelpText, page: HelpText) -> tuple[Option, ...]:
    """Return the longer list of arguments, in which only that is required which the help asks for."""
    # The manual of gpg calls `--sign` a command; the help, which lists them, does not.
    is_known = help_text.usages and not _takes_a_command(help_text.arguments) and _takes_a_command(page.arguments)
    longer = help_text.arguments if is_known else max(help_text.arguments, page.arguments, key=len)
    both = bool(help_text.arguments and page.arguments)
    required = {each.name.lower() for each in help_text.arguments if each.required} if both else set()
    return tuple(each.model_copy(update={"required": each.name.lower() in required}) for each in longer)


def _only_some(fuller: HelpText, help_text: HelpText) -> bool:
    """Whether the fuller help names one that is fuller still."""
    return not fuller.lists_all and fuller.fuller != help_text.fuller


def _from_usages(whole: tuple[str, ...], help_text: HelpText) -> dict[str, FoundCommand]:
    """Return the commands that only usage lines name: `git stash list`, `git stash drop [<stash>]`."""
    found: dict[str, FoundCommand] = {}
    usages = [each for usage in help_text.usages for each in usage_lines(usage)]
    lines = [line for usage in usages if (line := read_usage(usage)).words[: len(whole)] == whole]
    # A manual may write as a word what the help has as `[FILE]`.
    named = {argument.name.strip("<>[].").lower() for line in lines for argument in line.arguments}
    for line in lines:
        word = next(iter((*line.words[len(whole) :], *line.behind)), "")
        # A program of one command may have words of its own there.
        if word.lower() in named or _A_COMMAND.fullmatch(word):
            continue
        if word and len(lines) > 1 and (word not in found or len(line.text) > len(found[word].syntax)):
            found[word] = FoundCommand(
                (*whole, word),
                syntax=line.text,
                options=_never_required(line.options),
                arguments=_never_required(line.arguments),
                source=" ".join((*whole, "--help")),
                completeness=Completeness.PARTIAL,
            )
    return found


def _does_something_alone(whole: tuple[str, ...], help_text: HelpText) -> bool:
    """Whether a usage line needs no further word: there is none, or it is optional, as in `git stash [push …]`."""
    name = " ".join(whole)
    lines = [read_usage(usage) for usage in help_text.usages]
    return any(
        (line.text.startswith(f"{name} [") and _names_a_word(line.text[len(name) + 2 :]) and not line.says_options)
        or (line.words == whole and not line.behind and not any(map(_is_asked_for, line.arguments)))
        for line in lines
    )


def _names_a_word(inner: str) -> bool:
    word = re.split(r"[\s\]|]", inner, maxsplit=1)[0]
    return word[:1].islower() and not _A_COMMAND.fullmatch(word)


def _is_asked_for(argument: Option) -> bool:
    """Whether a command does nothing without an argument: commander writes `[command]` where one has to follow.

    clap writes `<COMMAND>` there, and `[COMMAND]` where none has to.
    """
    return argument.required or (_takes_a_command((argument,)) and argument.name.islower())


def _command(
    name: str, words: tuple[str, ...], listed: Subcommand, help_text: HelpText, from_usages: dict[str, FoundCommand]
) -> FoundCommand:
    whole = (name, *words)
    holds = bool(help_text.subcommands or from_usages)
    alone = holds and _does_something_alone(whole, help_text)
    below = "[<command>]" if alone else "<command>"
    before = " ".join(whole[:-1])
    aliases = [f"{before} {alias}" for alias in (*listed.aliases, *help_text.aliases)] if words else []
    return FoundCommand(
        words=whole,
        summary=listed.summary or help_text.summary,
        description=help_text.description or listed.summary,
        syntax=f"{' '.join(whole)} {below}" if from_usages else _syntax(whole, help_text),
        options=help_text.options,
        arguments=() if holds and not (alone and from_usages) else _with_free_command(help_text.arguments),
        examples=help_text.examples,
        aliases=tuple(dict.fromkeys(aliases)),
        notes=("**Usage:**\n```\n" + "\n".join(help_text.usages) + "\n```",) if len(help_text.usages) > 1 else (),
        source=" ".join((*whole, "--help")),
        is_group=holds and not alone,
        lists_options=help_text.lists_options,
        # `npm run <command>` runs what it is given; a program that takes a command has commands that were not read.
        holds_commands=alone or (not holds and not words and _takes_a_command(help_text.arguments)),
        # A help text may keep options back; the commands that it lists are those there are, unless it says otherwise.
        # Decision 26.
        completeness=Completeness.COMPLETE if help_text.subcommands and help_text.lists_all else Completeness.PARTIAL,
    )


def _takes_a_command(arguments: tuple[Option, ...]) -> bool:
    """Whether the first argument of a program is a command: which there are, nothing here tells."""
    return bool(arguments) and _A_COMMAND.fullmatch(arguments[0].name.strip("<>[].")) is not None


def _with_free_command(arguments: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return arguments of which none is required where the first is a command: an option may stand in its place."""
    return _never_required(arguments) if _takes_a_command(arguments) else arguments


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


def _manual_of(words: Sequence[str], folder: Path) -> str:
    """Return the manual page of a command: `man git-stash`."""
    man = shutil.which("man")
    if man is None:
        raise NoHelp("there is no `man` here")
    return _output_of([man, "-P", "cat", "--", "-".join(words)], folder)


def _looks_like_help(text: str) -> bool:
    help_text = read_help(text)
    return bool(help_text.usages or help_text.options or help_text.subcommands)


@cache
def _without_network() -> tuple[str, ...]:
    """Return the words that run a program without a network; none where the system does not allow it."""
    unshare = shutil.which("unshare")
    words = (unshare, "--user", "--map-current-user", "--net", "--") if unshare else ()
    try:
        allowed = subprocess.run([*words, "true"], capture_output=True, timeout=SECONDS_EACH).returncode == 0  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        allowed = False
    return words if allowed else ()


def _output_of(command: Sequence[str], folder: Path) -> str:
    try:
        process = subprocess.Popen(  # noqa: S603 - the operator names the program, and nothing goes through a shell
            [*_without_network(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # Where many print their help.
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,  # A group of its own, which `_end` can end with all that it started.
        )
    except OSError as error:
        raise NoHelp(f"it could not be started: {error.strerror or error}") from error
    try:
        # How it ends says nothing: `git stash -h` prints its help and ends with 129.
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
    """End a program and everything it started."""
    try:
        os.killpg(process.pid, 9)
    except (ProcessLookupError, PermissionError):
        process.kill()
    if process.stdout:
        process.stdout.close()
    process.wait()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    plain = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "MANWIDTH": "200"}
    return {**kept, **plain, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

"""Checks of a command line or request before it is run: whether it exists as written, and the nearest forms."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from accounts.actor import Actor
from knowledge.models import Reference, ReferenceType
from knowledge.references.arguments import CheckedText, CollectionName
from knowledge.references.collections import completeness_of, is_listed_whole, lists_all
from knowledge.references.lookup import (
    CommandLine,
    SearchedCollections,
    commands_in,
    find_endpoints,
    nearest_references,
    select_collections,
)
from knowledge.references.texts_by_hand import count_use, note_unanswered
from knowledge.search.names import Request, nearest, request_in, words_typed
from knowledge.vocabulary import Completeness, ReferenceKind

_UNSURE = "The documentation here may not list all there is: what it does not list may exist."
# What every program understands, listed or not.
_ALWAYS = frozenset({"--help", "-h", "--version"})


class CheckVerdict(StrEnum):
    """The result of a check."""

    EXISTS = "exists"
    DOES_NOT_EXIST = "does_not_exist"
    UNKNOWN_OPTION = "unknown_option"
    MISSING = "missing_argument"
    INCOMPLETE = "incomplete"
    METHOD = "unknown_method"
    UNEXPECTED = "unexpected_argument"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True)
class Checked:
    """Whether a command or an endpoint exists as it was written.

    Attributes:
        exists: Whether it could be run or sent as it stands, as far as the documentation tells.
        problems: What is wrong with it, each with the nearest that is right.
        reference: What it is, or what it is a wrong form of.
        nearest: Valid forms that come near.
        note: What else to know: that it was spelled differently, that its options are not documented.
    """

    asked: str
    exists: bool
    verdict: str
    reference: Reference | None = None
    problems: list[str] = field(default_factory=list)
    nearest: list[str] = field(default_factory=list)
    note: str = ""


def check_command(actor: Actor, *, command: CheckedText, collection: CollectionName = "") -> Checked:
    """Check a command line with its options, or a request such as GET /api/v1/users, before you run or recommend it.

    Call this whenever you wrote one yourself. Says whether it exists, exists with an option or value that does not,
    or lacks an argument, with the nearest valid forms; `cannot_tell` where the documentation may not list all there is.
    """
    among = select_collections(collection)
    request = request_in(command)
    checked = _of_request(command, request, among) if request else _of_line(command, among)
    if checked.reference is None:
        note_unanswered(actor, command)
    else:
        count_use(actor, [checked.reference.pk])
    return checked


def _of_request(asked: str, request: Request, among: SearchedCollections) -> Checked:
    endpoints = [match.reference for match in find_endpoints(request, among)]
    if not endpoints:
        verdict = CheckVerdict.DOES_NOT_EXIST if lists_all(among, ReferenceKind.API) else CheckVerdict.CANNOT_TELL
        return Checked(asked, False, verdict, nearest=nearest_references(asked, among, request=request))
    chosen = [one for one in endpoints if not request.method or one.method == request.method]
    if not chosen:
        is_whole = completeness_of(endpoints)[ReferenceKind.API] == Completeness.COMPLETE
        methods = ", ".join(one.method for one in endpoints)
        problem = f"{request.path} has no {request.method} {'' if is_whole else 'here'}; it has: {methods}."
        names = [str(one) for one in endpoints]
        verdict = CheckVerdict.METHOD if is_whole else CheckVerdict.CANNOT_TELL
        return Checked(asked, False, verdict, endpoints[0], [problem.replace(" ;", ";")], names)
    note = "It is deprecated." if (chosen[0].form or {}).get("deprecated") else ""
    return Checked(asked, True, CheckVerdict.EXISTS, chosen[0], nearest=[str(one) for one in chosen[1:]], note=note)


def _of_line(asked: str, among: SearchedCollections) -> Checked:
    checks = [_of_command(asked, line, among) for line in commands_in(asked, among)]
    if checks:
        return next((one for one in checks if one.exists), checks[0])
    nearest = nearest_references(asked, among, kinds=[ReferenceType.COMMAND])
    verdict = _verdict_on_nothing(asked, among)
    return Checked(asked, False, verdict, nearest=nearest, note=_UNSURE if verdict == CheckVerdict.CANNOT_TELL else "")


def _verdict_on_nothing(asked: str, among: SearchedCollections) -> CheckVerdict:
    """Return the verdict on a line that names no command: that is only certain where all commands are listed."""
    return CheckVerdict.DOES_NOT_EXIST if is_listed_whole(words_typed(asked), among) else CheckVerdict.CANNOT_TELL


def _of_command(asked: str, line: CommandLine, among: SearchedCollections) -> Checked:
    command = line.match.reference
    valid = [_valid_form(command)]
    if not _is_written_so(asked, line):
        note = f"It is documented as `{command.name}`: {line.match.matched_on}."
        return Checked(asked, False, _verdict_on_nothing(asked, among), command, nearest=valid, note=note)
    form = command.form
    if not form:
        note = "Its options and arguments are not documented here."
        verdict = CheckVerdict.CANNOT_TELL if line.rest else CheckVerdict.EXISTS
        return Checked(asked, not line.rest, verdict, command, nearest=valid if line.rest else [], note=note)
    if line.rest[:1] and line.rest[0].startswith("-") and (form.get("is_group") or form.get("holds_commands")):
        rest = _behind_options(line.rest, form.get("options", []))
        below = f"{command.name} {shlex.join(rest)}"
        inner = [one for one in commands_in(below, among) if one.match.reference != command] if rest else []
        if inner:
            return replace(_of_command(below, inner[0], among), asked=asked)
    found = _wrong_with(line, command, form, among)
    if found is None:
        return Checked(asked, True, CheckVerdict.EXISTS, command)
    verdict, problems, nearest = found
    if form.get("completeness") != Completeness.COMPLETE:
        return Checked(asked, False, CheckVerdict.CANNOT_TELL, command, problems, nearest, _UNSURE)
    return Checked(asked, False, verdict, command, problems, nearest)


def _wrong_with(
    line: CommandLine, command: Reference, form: Mapping[str, Any], among: SearchedCollections
) -> tuple[CheckVerdict, list[str], list[str]] | None:
    """Return what is wrong with a line as far as the documentation tells: the verdict, the problems, valid forms."""
    call = _parse_call(line.rest, form.get("options", []))
    if form.get("is_group") and not {name for name, _ in call.options} & _ALWAYS:
        below = among.references().filter(kind=ReferenceType.COMMAND, name__startswith=f"{command.name} ")
        names = list(below.order_by("name").values_list("name", flat=True)[:10])
        return CheckVerdict.INCOMPLETE, [f"`{command.name}` only holds further commands."], names
    wrong, missing, surplus = _wrong_options(call, form.get("options", [])), _missing(call, form), _surplus(call, form)
    for verdict, problems in (
        (CheckVerdict.UNKNOWN_OPTION, wrong),
        (CheckVerdict.UNEXPECTED, surplus),
        (CheckVerdict.MISSING, missing),
    ):
        if problems:
            return verdict, [*wrong, *surplus, *missing], [_valid_form(command)]
    return None


@dataclass(frozen=True)
class _ParsedCall:
    """What follows a command in a line: its options with their values, and the values that stand alone."""

    options: list[tuple[str, str | None]]
    values: list[str]


def _parse_call(rest: Sequence[str], known: Sequence[Mapping[str, Any]]) -> _ParsedCall:
    by_form = _by_form(known)
    options: list[tuple[str, str | None]] = []
    values: list[str] = []
    words = iter(rest)
    for word in words:
        if word == "--":
            values.extend(words)
        elif not word.startswith("-") or word == "-" or (word[1:2].isdigit() and word[:2] not in by_form):
            values.append(word)
        else:
            for name, value in _switches(word, by_form):
                takes_next = value is None and _takes_value(by_form.get(name))
                options.append((name, next(words, None) if takes_next else value))
    return _ParsedCall(options, values)


def _behind_options(rest: Sequence[str], known: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the words after the options of a group, such as `worker` of `-A shop worker`; nothing if unknown."""
    by_form, words = _by_form(known), list(rest)
    while words and words[0].startswith("-"):
        for name, value in _switches(words.pop(0), by_form):
            if name not in by_form:
                return []
            if value is None and _takes_value(by_form[name]) and words:
                words.pop(0)
    return words


def _by_form(known: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the options by each of their spellings."""
    return {
        form: option
        for option in known
        for form in (option["name"], option.get("short"), *option.get("others", ()))
        if form
    }


def _takes_value(option: Mapping[str, Any] | None) -> bool:
    """Whether the next word is the value of an option; one that may be left out is written behind `=` alone."""
    return bool(option and option.get("value") and not option["value"].startswith("["))


def _switches(word: str, by_form: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str | None]]:
    """Return the options that a word is: one, or short ones in a row, the last with its value: `-xzf`, `-XPOST`."""
    name, sign, given = word.partition("=")
    if name in by_form or word.startswith("--") or len(word) == 2:
        return [(name, given if sign else None)]
    found: list[tuple[str, str | None]] = []
    for place, letter in enumerate(word[1:], 2):
        option = by_form.get(f"-{letter}")
        if option is None:
            return [(word, None)]
        if option.get("value") and word[place:]:
            return [*found, (f"-{letter}", word[place:].removeprefix("="))]
        found.append((f"-{letter}", None))
    return found


def _wrong_options(call: _ParsedCall, known: Sequence[Mapping[str, Any]]) -> list[str]:
    by_form = _by_form(known)
    problems = []
    for name, value in call.options:
        option = by_form.get(name)
        if option is None and name not in _ALWAYS:
            problems.append(f"It has no option `{name}`.{_did_you_mean(name, by_form)}")
        elif option and option.get("values") and value is not None and value not in option["values"]:
            problems.append(f"`{name}` takes one of: {', '.join(option['values'])}; not `{value}`.")
        elif _takes_value(option) and value is None:
            problems.append(f"`{name}` needs a value: {option['value'] if option else ''}.")
    return problems


def _surplus(call: _ParsedCall, form: Mapping[str, Any]) -> list[str]:
    """Return a problem for each word beyond the arguments that the command takes."""
    arguments = form.get("arguments", [])
    if any("..." in f"{argument['name']}{argument.get('value', '')}" for argument in arguments):
        return []
    return [f"It takes no further argument: `{value}`." for value in call.values[len(arguments) :]]


def _missing(call: _ParsedCall, form: Mapping[str, Any]) -> list[str]:
    given = {name for name, _ in call.options}
    if given & _ALWAYS:
        return []
    options = [
        f"The option `{option['name']}` is required."
        for option in form.get("options", [])
        if option.get("required") and not given & set(_by_form([option]))
    ]
    required = [argument["name"] for argument in form.get("arguments", []) if argument.get("required")]
    return options + [f"The argument {name} is missing." for name in required[len(call.values) :]]


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = [f"`{one}`" for one in nearest(name, known)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _valid_form(command: Reference) -> str:
    return str((command.form or {}).get("syntax") or command.name or command.title)


def _is_written_so(asked: str, line: CommandLine) -> bool:
    """Whether the words are the command's own, letter for letter: shells forgive nothing but spaces and quotes."""
    command, words = line.match.reference, words_typed(asked)
    typed = words[: len(words) - len(line.rest)]
    program = command.collection.program.split()
    return command.name.split() in (typed, program + typed)

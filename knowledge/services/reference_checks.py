"""Checking what somebody is about to run or send: whether it exists, with these options, and what comes nearest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from accounts.actor import Actor
from knowledge.models import Reference, ReferenceType
from knowledge.reference_arguments import CheckedText, CollectionName
from knowledge.search.names import Request, request_in, words_typed
from knowledge.search.nearest import nearest
from knowledge.services.nearest_references import nearest_references
from knowledge.services.reference_lookup import Line, Shelves, commands_in, requested, shelves
from knowledge.services.references import count_use, note_unanswered

# What every program understands, listed or not.
_ALWAYS = frozenset({"--help", "-h", "--version"})


class Verdict(StrEnum):
    """What a check found."""

    EXISTS = "exists"
    UNKNOWN = "does_not_exist"
    UNKNOWN_OPTION = "unknown_option"
    MISSING = "missing_argument"
    INCOMPLETE = "incomplete"
    METHOD = "unknown_method"


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
    or lacks an argument, with the nearest valid forms.
    """
    among = shelves(collection)
    request = request_in(command)
    checked = _of_request(command, request, among) if request else _of_line(command, among)
    if checked.reference is None:
        note_unanswered(actor, command)
    else:
        count_use(actor, [checked.reference.pk])
    return checked


def _of_request(asked: str, request: Request, among: Shelves) -> Checked:
    endpoints = [match.reference for match in requested(request, among)]
    if not endpoints:
        return Checked(asked, False, Verdict.UNKNOWN, nearest=nearest_references(asked, among, request=request))
    chosen = [one for one in endpoints if not request.method or one.method == request.method]
    if not chosen:
        methods = ", ".join(one.method for one in endpoints)
        problem = f"{request.path} has no {request.method}; it has: {methods}."
        names = [str(one) for one in endpoints]
        return Checked(asked, False, Verdict.METHOD, endpoints[0], [problem], names)
    note = "It is deprecated." if (chosen[0].form or {}).get("deprecated") else ""
    return Checked(asked, True, Verdict.EXISTS, chosen[0], nearest=[str(one) for one in chosen[1:]], note=note)


def _of_line(asked: str, among: Shelves) -> Checked:
    lines = commands_in(asked, among)
    if not lines:
        return Checked(
            asked, False, Verdict.UNKNOWN, nearest=nearest_references(asked, among, kinds=[ReferenceType.COMMAND])
        )
    checks = [_of_command(asked, line, among) for line in lines]
    return next((one for one in checks if one.exists), checks[0])


def _of_command(asked: str, line: Line, among: Shelves) -> Checked:
    command = line.match.reference
    valid = [_valid_form(command)]
    if not _is_written_so(asked, line):
        note = f"It is documented as `{command.name}`: {line.match.matched_on}."
        return Checked(asked, False, Verdict.UNKNOWN, command, nearest=valid, note=note)
    form = command.form
    if not form:
        return Checked(asked, True, Verdict.EXISTS, command, note="Its options and arguments are not documented here.")
    if form.get("is_group"):
        below = among.references().filter(kind=ReferenceType.COMMAND, name__startswith=f"{command.name} ")
        names = list(below.order_by("name").values_list("name", flat=True)[:10])
        problem = f"`{command.name}` only holds further commands."
        return Checked(asked, False, Verdict.INCOMPLETE, command, [problem], names)
    told = _told(line.rest, form.get("options", []))
    wrong = _wrong_options(told, form.get("options", []))
    missing = _missing(told, form)
    if wrong:
        return Checked(asked, False, Verdict.UNKNOWN_OPTION, command, [*wrong, *missing], valid)
    if missing:
        return Checked(asked, False, Verdict.MISSING, command, missing, valid)
    return Checked(asked, True, Verdict.EXISTS, command)


@dataclass(frozen=True)
class _Told:
    """What follows a command in a line: its options with their values, and the values that stand alone."""

    options: list[tuple[str, str | None]]
    values: list[str]


def _told(rest: Sequence[str], known: Sequence[Mapping[str, Any]]) -> _Told:
    takes_value = {name for option in known if option.get("value") for name in (option["name"], option.get("short"))}
    options: list[tuple[str, str | None]] = []
    values: list[str] = []
    words = iter(rest)
    for word in words:
        if word == "--":
            values.extend(words)
        elif not word.startswith("-") or word == "-" or word[1:2].isdigit():
            values.append(word)
        elif "=" in word:
            name, _, value = word.partition("=")
            options.append((name, value))
        else:
            options.append((word, next(words, None) if word in takes_value else None))
    return _Told(options, values)


def _wrong_options(told: _Told, known: Sequence[Mapping[str, Any]]) -> list[str]:
    by_name = {name: option for option in known for name in (option["name"], option.get("short", "")) if name}
    problems = []
    for name, value in told.options:
        option = by_name.get(name)
        if option is None and name not in _ALWAYS and not _are_switches(name, by_name):
            problems.append(f"It has no option `{name}`.{_did_you_mean(name, by_name)}")
        elif option and option.get("values") and value is not None and value not in option["values"]:
            problems.append(f"`{name}` takes one of: {', '.join(option['values'])}; not `{value}`.")
        elif option and option.get("value") and value is None:
            problems.append(f"`{name}` needs a value: {option['value']}.")
    return problems


def _are_switches(name: str, by_name: Mapping[str, Any]) -> bool:
    """Whether short switches were written as one: `-la` for `-l -a`."""
    return not name.startswith("--") and all(f"-{letter}" in by_name for letter in name[1:])


def _missing(told: _Told, form: Mapping[str, Any]) -> list[str]:
    given = {name for name, _ in told.options}
    if given & _ALWAYS:
        return []
    options = [
        f"The option `{option['name']}` is required."
        for option in form.get("options", [])
        if option.get("required") and not given & {option["name"], option.get("short")}
    ]
    required = [argument["name"] for argument in form.get("arguments", []) if argument.get("required")]
    return options + [f"The argument {name} is missing." for name in required[len(told.values) :]]


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = [f"`{one}`" for one in nearest(name, known)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _valid_form(command: Reference) -> str:
    return str((command.form or {}).get("syntax") or command.name or command.title)


def _is_written_so(asked: str, line: Line) -> bool:
    """Whether the words are the command's own, letter for letter: shells forgive nothing but spaces and quotes."""
    command, words = line.match.reference, words_typed(asked)
    typed = words[: len(words) - len(line.rest)]
    program = command.collection.program.split()
    return command.name.split() in (typed, program + typed)

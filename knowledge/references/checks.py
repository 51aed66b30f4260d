"""Checks of a command line or request before it is run: whether it exists as written, and the nearest forms."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from accounts.actor import Actor
from bigmind.text.hygiene import echo_code
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.models import Reference, ReferenceType
from knowledge.references.arguments import CheckedText, CollectionName
from knowledge.references.collections import completeness_of, is_listed_whole, lists_all
from knowledge.references.editing import count_use, note_unanswered
from knowledge.references.lookup import (
    CommandLine,
    SearchedCollections,
    commands_in,
    find_endpoints,
    is_value,
    nearest_references,
    select_collections,
)
from knowledge.references.request_checks import TypedRequest, check_request, read_request
from knowledge.search.nearest_names import nearest
from knowledge.search.typed_names import commands_typed, request_in, words_typed

_UNSURE = "The documentation here may not list all there is: what it does not list may exist."
# Options that every program understands, listed or not.
_ALWAYS = frozenset({"--help", "-h", "--version"})
_A_COMMAND = re.compile(r"command|cmd|program", re.I)
_LONG_OPTION = re.compile(r"--[A-Za-z]")
MOST_TRIED = 8
"""Words behind unknown options of a group that are tried as the command below it: each takes a query or two."""


class CheckVerdict(StrEnum):
    """The result of a check."""

    EXISTS = "exists"
    DOES_NOT_EXIST = "does_not_exist"
    UNKNOWN_OPTION = "unknown_option"
    MISSING = "missing_argument"
    INCOMPLETE = "incomplete"
    METHOD = "unknown_method"
    PARAMETER = "unknown_parameter"
    VALUE = "wrong_value"
    UNEXPECTED = "unexpected_argument"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True)
class Checked:
    """Whether a command or an endpoint exists as written."""

    asked: str
    exists: bool
    verdict: Annotated[
        str,
        Field(
            description="exists, does_not_exist, unknown_option, missing_argument, unexpected_argument, incomplete,"
            " unknown_method, unknown_parameter, wrong_value, or cannot_tell: the documentation may be incomplete."
        ),
    ]
    reference: Reference | None = None
    problems: list[str] = field(default_factory=list)
    nearest: Annotated[list[str], Field(description="Nearest valid forms.")] = field(default_factory=list)
    note: str = ""
    checked: Annotated[list[str], Field(description="Which parts of it were compared.")] = field(default_factory=list)


def check_command(actor: Actor, *, command: CheckedText, collection: CollectionName = "") -> Checked:
    """Check a command line with its options, or a request such as GET /api/v1/users, before you run or recommend it.

    Call this whenever you wrote one yourself. Says whether it exists, exists with an option or value that does not, or
    lacks an argument, with the nearest valid forms; `cannot_tell` if the documentation may be incomplete.
    """
    among = select_collections(collection)
    typed = read_request(command)
    checked = _of_request(command, typed, among) if typed else _of_lines(command, among)
    if typed and checked.reference is None and not request_in(command):
        # A call of curl to an address that nothing documents is a command like any other.
        checked = _of_lines(command, among)
    if checked.reference is None:
        note_unanswered(actor, command)
    else:
        count_use(actor, [checked.reference.pk])
    return checked


def _of_request(line: str, typed: TypedRequest, among: SearchedCollections) -> Checked:
    request = typed.request
    endpoints = [match.reference for match in find_endpoints(request, among)]
    if not endpoints:
        verdict = CheckVerdict.DOES_NOT_EXIST if lists_all(among, ReferenceKind.API) else CheckVerdict.CANNOT_TELL
        nearest = nearest_references(line, among, request=request)
        return Checked(line, False, verdict, checked=["method", "path"], nearest=nearest)
    chosen = [one for one in endpoints if not request.method or one.method == request.method]
    if not chosen:
        is_whole = completeness_of(endpoints)[ReferenceKind.API] == Completeness.COMPLETE
        methods = ", ".join(one.method for one in endpoints)
        problem = f"{request.path} has no {request.method} {'' if is_whole else 'here'}; it has: {methods}."
        names = [str(one) for one in endpoints]
        verdict = CheckVerdict.METHOD if is_whole else CheckVerdict.CANNOT_TELL
        return Checked(line, False, verdict, endpoints[0], [problem.replace(" ;", ";")], names)
    answers = [_of_endpoint(line, typed, one) for one in chosen]
    best = next((one for one in answers if one.exists), answers[0])
    return replace(best, nearest=best.nearest or [str(one) for one in chosen if one != best.reference])


def _of_endpoint(line: str, typed: TypedRequest, endpoint: Reference) -> Checked:
    form = endpoint.form or {}
    found = check_request(typed, form)
    parts = ["method", "path", *(["query parameters"] if typed.query and form else [])]
    parts += ["content type"] if typed.content_type and form.get("body") else []
    note = "It is deprecated." if form.get("deprecated") else ""
    for verdict, problems in (
        (CheckVerdict.PARAMETER, found.unknown),
        (CheckVerdict.VALUE, found.values),
        (CheckVerdict.MISSING, found.missing),
    ):
        if problems:
            is_whole = form.get("completeness") == Completeness.COMPLETE
            verdict = verdict if is_whole else CheckVerdict.CANNOT_TELL
            everything = [*found.unknown, *found.values, *found.missing]
            note = note if is_whole else _UNSURE
            return Checked(line, False, verdict, endpoint, everything, note=note, checked=parts)
    return Checked(line, True, CheckVerdict.EXISTS, endpoint, checked=parts, note=note)


def _of_lines(typed_line: str, among: SearchedCollections) -> Checked:
    """Check each command of a line such as `git log | head`: the line exists where all of them do."""
    lines = commands_typed(typed_line)
    checks = [_of_line(line, among) for line in lines]
    if len(checks) == 1:
        return replace(checks[0], asked=typed_line)
    worst = next((one for one in checks if not one.exists), checks[0])
    each = "; ".join(f"{echo_code(one.asked)}: {one.verdict.replace('_', ' ')}" for one in checks)
    return replace(worst, asked=typed_line, note=f"Its commands one by one: {each}. {worst.note}".strip())


def _of_line(typed_line: str, among: SearchedCollections) -> Checked:
    checks = [_of_command(typed_line, line, among) for line in commands_in(typed_line, among)]
    if checks:
        return next((one for one in checks if one.exists), checks[0])
    nearest = nearest_references(typed_line, among, kinds=[ReferenceType.COMMAND])
    verdict = _verdict_on_nothing(typed_line, among)
    return Checked(
        typed_line, False, verdict, nearest=nearest, note=_UNSURE if verdict == CheckVerdict.CANNOT_TELL else ""
    )


def _verdict_on_nothing(line: str, among: SearchedCollections) -> CheckVerdict:
    """Return the verdict on a line that names no command: that is only certain where all commands are listed."""
    return CheckVerdict.DOES_NOT_EXIST if is_listed_whole(words_typed(line), among) else CheckVerdict.CANNOT_TELL


def _of_command(typed_line: str, line: CommandLine, among: SearchedCollections) -> Checked:
    command = line.match.reference
    valid = [_valid_form(command)]
    if not _is_written_so(typed_line, line):
        note = f"It is documented as `{command.name}`: {line.match.matched_on}."
        return Checked(typed_line, False, _verdict_on_nothing(typed_line, among), command, nearest=valid, note=note)
    form = command.form
    if not form:
        note = "Its options and arguments are not documented here."
        verdict = CheckVerdict.CANNOT_TELL if line.rest else CheckVerdict.EXISTS
        return Checked(typed_line, not line.rest, verdict, command, nearest=valid if line.rest else [], note=note)
    known = _options_of(command, among)
    if line.rest[:1] and line.rest[0].startswith("-") and (form.get("is_group") or form.get("holds_commands")):
        inner = _below_options(typed_line, line, known, among)
        if inner is not None:
            return inner
    found = _wrong_with(line, command, {**form, "options": known}, among)
    is_leaf = not (form.get("is_group") or form.get("holds_commands"))
    # Of a group it is its commands that are known to be all.
    is_whole = form.get("completeness") == Completeness.COMPLETE and (is_leaf or not line.rest)
    lists_options = is_whole or bool(form.get("lists_options"))
    parts = ["command", *(["options"] if lists_options else []), *(["arguments"] if is_whole else [])]
    if found is None:
        return Checked(typed_line, True, CheckVerdict.EXISTS, command, checked=parts)
    verdict, problems, nearest = found
    # Where not everything is, the answer is “cannot tell”: to call a true line wrong costs more than to doubt an
    # invented one. Decision 26.
    # A help text rarely says that a value may be left out.
    is_wrong_option = verdict == CheckVerdict.UNKNOWN_OPTION and " needs a value: " not in problems[0]
    is_certain = is_whole or (lists_options and is_wrong_option)
    if not is_certain or _abbreviates(line.rest, known):
        return Checked(typed_line, False, CheckVerdict.CANNOT_TELL, command, problems, nearest, _UNSURE, parts)
    return Checked(typed_line, False, verdict, command, problems, nearest, checked=parts)


def _abbreviates(words: Sequence[str], known: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an option is the beginning of one that is listed: argparse and getopt take `--verb` for `--verbose`."""
    forms = _by_form(known)
    names = [word.partition("=")[0] for word in words if _LONG_OPTION.match(word)]
    return any(name not in forms and any(form.startswith(name) for form in forms) for name in names)


def _options_of(command: Reference, among: SearchedCollections) -> list[Mapping[str, Any]]:
    """Return the options of a command, and those of the commands above it where it takes them too."""
    form = command.form or {}
    words = command.name.split()
    above = [" ".join(words[:length]) for length in range(1, len(words))] if form.get("inherits") else []
    forms = among.references().filter(kind=ReferenceType.COMMAND, collection=command.collection_id, name__in=above)
    shared = [option for other in forms.values_list("form", flat=True) for option in (other or {}).get("options", [])]
    return [*form.get("options", []), *shared]


def _below_options(
    typed_line: str, line: CommandLine, known: Sequence[Mapping[str, Any]], among: SearchedCollections
) -> Checked | None:
    """Check the command behind options of its group: `celery -A shop worker`, `kubectl -n prod get pods`."""
    command, words = line.match.reference, line.rest
    behind = _behind_options(words, known)
    places = [at for at, word in enumerate(words) if word[:1] != "-"]
    if behind:
        # First what is certainly no value of an option. Whether an unknown one takes the next word, nobody can say.
        places.insert(0, len(words) - len(behind))
    for place in places[:MOST_TRIED]:
        below = f"{command.name} {shlex.join(words[place:])}"
        inner = next((one for one in commands_in(below, among) if one.match.reference != command), None)
        if inner is None:
            continue
        checked = replace(_of_command(below, inner, among), asked=typed_line)
        problems = _wrong_options(_parse_call(words[:place], known), known)
        if not problems:
            return checked
        is_whole = (command.form or {}).get("completeness") == Completeness.COMPLETE and not checked.exists
        verdict = checked.verdict if is_whole else CheckVerdict.CANNOT_TELL
        return replace(checked, exists=False, verdict=verdict, problems=[*problems, *checked.problems], note=_UNSURE)
    if not places or not (command.form or {}).get("is_group"):
        return None
    # An unknown option may have taken the word for its value.
    below = f"{command.name} {shlex.join(behind)}"
    verdict = _verdict_on_nothing(below, among) if behind else CheckVerdict.CANNOT_TELL
    return Checked(typed_line, False, verdict, command, nearest=nearest_references(below, among))


def _wrong_with(
    line: CommandLine, command: Reference, form: Mapping[str, Any], among: SearchedCollections
) -> tuple[CheckVerdict, list[str], list[str]] | None:
    """Return what is wrong with a line as far as the documentation tells: the verdict, the problems, valid forms."""
    call = _parse_call(line.rest, form["options"], form.get("arguments", []))
    if form.get("is_group") and not {name for name, _ in call.options} & _ALWAYS:
        # A switch of a program may be all there is to say, as in `git --exec-path`.
        switches = [name for name, _ in call.options if not _takes_value(_by_form(form["options"]).get(name))]
        if switches and not (call.values or _wrong_options(call, form["options"])):
            return None
        below = among.references().filter(kind=ReferenceType.COMMAND, name__startswith=f"{command.name} ")
        names = list(below.order_by("name").values_list("name", flat=True)[:10])
        return CheckVerdict.INCOMPLETE, [f"`{command.name}` only holds further commands."], names
    wrong, missing, surplus = _wrong_options(call, form["options"]), _missing(call, form), _surplus(call, form)
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


def _parse_call(
    rest: Sequence[str], known: Sequence[Mapping[str, Any]], arguments: Sequence[Mapping[str, Any]] = ()
) -> _ParsedCall:
    by_form = _by_form(known)
    # What stands behind `bash` of `docker exec web bash -c …` is its own; `npm run test --force` is still npm's.
    runs = [at for at, each in enumerate(arguments) if at and _A_COMMAND.fullmatch(each["name"].strip("<>[]."))]
    options: list[tuple[str, str | None]] = []
    values: list[str] = []
    words = list(rest)
    while words:
        word = words.pop(0)
        if word == "--" or (runs and len(values) > runs[0]):
            values.extend(words if word == "--" else [word, *words])
            break
        # `-` is the standard input and `-5` a number, unless the command has such an option (`git log -2`).
        if not word.startswith("-") or word == "-" or (word[1:2].isdigit() and word[:2] not in by_form):
            values.append(word)
        else:
            for name, value in _switches(word, by_form):
                # A word that begins like an option is not a value: the value was forgotten.
                takes_next = value is None and _takes_value(by_form.get(name)) and bool(words)
                takes_next = takes_next and not _LONG_OPTION.match(words[0])
                options.append((name, words.pop(0) if takes_next else value))
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
    value = option.get("value", "") if option else ""
    # click shows choices in brackets as well, with strokes between them.
    is_optional = value.startswith("[=") or (value.startswith("[") and value.endswith("]") and not option.get("values"))  # type: ignore[union-attr]
    return bool(value) and not is_optional


def _switches(word: str, by_form: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str | None]]:
    """Return the options that a word is: one, or short ones in a row, the last with its value: `-xzf`, `-XPOST`."""
    name, sign, given = word.partition("=")
    if name in by_form or word.startswith("--") or len(word) == 2:
        return [(name, given if sign else None)]
    found: list[tuple[str, str | None]] = []
    for place, letter in enumerate(word[1:], 2):
        option = by_form.get(f"-{letter}")
        if option is None:
            # The whole word is reported: `-name` of `find` is one option, and not five of which `-n` is unknown.
            return [(word, None)]
        if option.get("value") and word[place:]:
            if _LONG_OPTION.match(f"-{word[place:]}"):
                return [(word, None)]
            return [*found, (f"-{letter}", word[place:].removeprefix("="))]
        found.append((f"-{letter}", None))
    return found


def _wrong_options(call: _ParsedCall, known: Sequence[Mapping[str, Any]]) -> list[str]:
    by_form = _by_form(known)
    problems = []
    for name, value in call.options:
        option = by_form.get(name)
        if option is None and name not in _ALWAYS:
            problems.append(f"It has no option {echo_code(name)}.{_did_you_mean(name, by_form)}")
        elif option and option.get("values") and value is not None and not _is_among(value, option["values"]):
            taken = ", ".join(map(echo_code, option["values"]))
            problems.append(f"{echo_code(name)} takes one of: {taken}; not {echo_code(value)}.")
        elif _takes_value(option) and value is None:
            problems.append(f"{echo_code(name)} needs a value: {echo_code(option['value']) if option else ''}.")
    return problems


def _is_among(value: str, values: Sequence[str]) -> bool:
    """Whether a value, or each of several with commas between, is listed. Lists rarely say whether case matters."""
    listed = {each.casefold() for each in values}
    return value.casefold() in listed or set(value.casefold().split(",")) <= listed


def _surplus(call: _ParsedCall, form: Mapping[str, Any]) -> list[str]:
    """Return a problem for each word beyond the arguments that the command takes."""
    arguments = form.get("arguments", [])
    if any("..." in f"{argument['name']}{argument.get('value', '')}" for argument in arguments):
        return []
    # A help text rarely says that `<url>` may be repeated; a path or a number is no misspelt command.
    is_partial = bool(arguments) and form.get("completeness") == Completeness.PARTIAL
    # commander's `--reporters [names]` takes the next word, GNU's `--color[=WHEN]` does not.
    by_form = _by_form(form.get("options", []))
    may_take = sum(value is None and by_form.get(name, {}).get("value", "")[:1] == "[" for name, value in call.options)
    surplus = call.values[len(arguments) + may_take :]
    beyond = [value for value in surplus if not (is_partial and is_value(value))]
    return [f"It takes no further argument: {echo_code(value)}." for value in beyond]


def _missing(call: _ParsedCall, form: Mapping[str, Any]) -> list[str]:
    given = {name for name, _ in call.options}
    if given & _ALWAYS:
        return []
    options = [
        f"The option {echo_code(option['name'])} is required."
        for option in form.get("options", [])
        if option.get("required") and not given & set(_by_form([option]))
    ]
    required = [argument["name"] for argument in form.get("arguments", []) if argument.get("required")]
    return options + [f"The argument {echo_code(name)} is missing." for name in required[len(call.values) :]]


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = [echo_code(one) for one in nearest(name, known)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _valid_form(command: Reference) -> str:
    return str((command.form or {}).get("syntax") or command.name or command.title)


def _is_written_so(typed_line: str, line: CommandLine) -> bool:
    """Whether the words are the command's own, letter for letter: shells forgive nothing but spaces and quotes."""
    command, words = line.match.reference, words_typed(typed_line)
    typed = words[: len(words) - len(line.rest)]
    program = command.collection.program.split()
    if command.name.split() in (typed, program + typed):
        return True
    # `npm i` is as right as `npm install`: of what was generated, other names are spellings.
    other = line.match.said.split()
    is_spelling = bool(command.form) and other[:1] == command.name.split()[:1]
    return is_spelling and other in (typed, program + typed)

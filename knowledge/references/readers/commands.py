"""Commands as every reader finds them, the names by which texts speak of them, and the references they become."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.reference_drafts import CommandForm, Example, Option, ReferenceDraft

TITLE_LENGTH = 80
SIBLINGS_NAMED = 12

_FENCE = "```"
_PLACEHOLDER = re.compile(r"[<\[{(\"'-]|\.\.\.|…|[A-Z_]{2,}$")
# What stands in an example for a placeholder: an address, a path, an id, a number, a variable, a list, a name.
_CONCRETE = re.compile(
    r"[^@\s]*@|[./~$%*A-Z]|[^\s:/]{1,20}:/|\d+(?:[\s.:/-]|$)|\d\w{0,60}[A-Z]|[0-9a-fA-F]{7,}$|[a-z]{1,20}_\d"
    r"|[^\s.]+\.[a-z]{2,4}$|[^\s=]*=|[^\s,]*,|[^\s/]+/"
)
_COMMAND_WORD = re.compile(r"[a-z0-9][\w:.+-]*$")
_REQUEST_LINE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (/[^\s`'\"]{0,500})")


@dataclass(frozen=True)
class FoundCommand:
    """One command of a source.

    Attributes:
        words: Program and words, without arguments.
        aliases: Other spellings of the whole command.
        notes: What else the source says about it, a paragraph each.
        calls: The requests its code makes: `GET /api/users/{email}`.
    """

    words: tuple[str, ...]
    summary: str = ""
    description: str = ""
    syntax: str = ""
    options: tuple[Option, ...] = ()
    arguments: tuple[Option, ...] = ()
    examples: tuple[Example, ...] = ()
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    source: str = ""
    is_group: bool = False
    holds_commands: bool = False
    inherits: bool = False
    lists_options: bool = False
    completeness: Completeness = Completeness.UNKNOWN

    @property
    def name(self) -> str:
        """Return it as one types it."""
        return " ".join(self.words)


@dataclass(frozen=True)
class DocumentedProgram:
    """What commands belong to: the first word of most, its version, and the other spellings of a group's first word."""

    name: str = ""
    version: str = ""
    categories: dict[str, str] = field(default_factory=dict)


def drafts_of(commands: Iterable[FoundCommand], program: DocumentedProgram) -> tuple[ReferenceDraft, ...]:
    """Return the references of commands, each pointing at its group, its members or its neighbours."""
    unique = {command.words: command for command in commands}
    keys = _keys(unique, program.name)
    members: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for words in keys:
        members.setdefault(words[:-1], []).append(words)
    return tuple(_draft(command, program, keys, members) for command in unique.values())


def first_sentence(text: str) -> str:
    """Return the first sentence or line of a text."""
    lines = text.strip().splitlines()
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", lines[0].strip())[0] if lines else ""


def merge_options(*sources: Iterable[Option]) -> tuple[Option, ...]:
    """Return options by name; what an earlier source leaves open, a later one fills."""
    found: dict[str, Option] = {}
    for option in (option for source in sources for option in source):
        # A usage line often shows the short form alone.
        by_short = next((each for each in found.values() if each.short and each.short == option.name), None)
        known = found.get(option.name) or by_short
        found[known.name if known else option.name] = _fill(known, option) if known else option
    return tuple(found.values())


def _fill(known: Option, other: Option) -> Option:
    # `required` stays as the first source has it: a usage line asks for what is only one of its alternatives.
    missing = {name: value for name, value in other if value and name != "required" and not getattr(known, name)}
    return known.model_copy(update=missing) if missing else known


def _keys(commands: Iterable[tuple[str, ...]], program: str) -> dict[tuple[str, ...], str]:
    keys: dict[tuple[str, ...], str] = {}
    taken: set[str] = set()
    for words in commands:
        spoken = words[1:] if len(words) > 1 and words[0] == program else words
        key = base = "cmd-" + (re.sub(r"[^a-z0-9]+", "-", " ".join(spoken).lower()).strip("-") or "command")
        number = 2
        while key in taken:
            key, number = f"{base}-{number}", number + 1
        taken.add(key)
        keys[words] = key
    return keys


def _draft(
    command: FoundCommand,
    program: DocumentedProgram,
    keys: dict[tuple[str, ...], str],
    members: dict[tuple[str, ...], list[tuple[str, ...]]],
) -> ReferenceDraft:
    words, name = command.words, command.name
    below = [f"`{each[-1]}`" for each in members.get(words, ())] if command.is_group else []
    sentence = command.summary or first_sentence(command.description)
    summary = sentence or ("Commands: " + ", ".join(below) + "." if command.is_group else "")
    spoken = words[1:] if words[0] == program.name else words
    first = program.categories.get(spoken[0], spoken[0]) if len(spoken) > 1 or (command.is_group and spoken) else ""
    form = CommandForm(
        name=name,
        syntax=command.syntax or name,
        options=command.options,
        arguments=command.arguments,
        is_group=command.is_group,
        holds_commands=command.holds_commands,
        inherits=command.inherits,
        lists_options=command.lists_options,
        completeness=command.completeness,
    )
    return ReferenceDraft(
        key=keys[words],
        kind=ReferenceKind.COMMAND,
        title=sentence.rstrip(".") if 0 < len(sentence) <= TITLE_LENGTH else name,
        category=first or program.name,
        subcategory=spoken[1] if len(spoken) > 2 else "",
        summary=summary or f"The command `{name}`.",
        content=_content(replace(command, summary=summary), below),
        name=name,
        keywords=tuple(dict.fromkeys(word.lower() for word in re.findall(r"[A-Za-z0-9]+", name))),
        aliases=command.aliases,
        examples=command.examples,
        related=tuple(_find_related(command, keys, members)),
        source=command.source,
        version=program.version,
        command=form,
    )


def _find_related(
    command: FoundCommand,
    keys: dict[tuple[str, ...], str],
    members: dict[tuple[str, ...], list[tuple[str, ...]]],
) -> list[str]:
    near = members.get(command.words if command.is_group else command.words[:-1], [])[: SIBLINGS_NAMED + 2]
    found = [keys.get(command.words[:-1]), *(keys[words] for words in near)]
    return [key for key in dict.fromkeys(found) if key and key != keys[command.words]][:SIBLINGS_NAMED]


def _content(command: FoundCommand, members: Sequence[str]) -> str:
    parts = [command.description or command.summary, f"**Syntax:**\n```\n{command.syntax or command.name}\n```"]
    parts += [_list_options("Arguments", command.arguments), _list_options("Options", command.options)]
    parts += [f"**Commands:** {', '.join(members)}" if members else "", *command.notes]
    parts.append("**Calls:**\n" + "\n".join(f"- `{call}`" for call in command.calls) if command.calls else "")
    return "\n\n".join(part for part in parts if part)


def _list_options(heading: str, options: Sequence[Option]) -> str:
    return f"**{heading}:**\n" + "\n".join(_option_line(option) for option in options) if options else ""


def _option_line(option: Option) -> str:
    typed = ", ".join(f"`{form}`" for form in (option.short, option.name) if form)
    facts = [option.value and f"`{option.value}`" if not option.values else "one of " + _in_backticks(option.values)]
    facts += ["required" if option.required else "", f"default `{option.default}`" if option.default else ""]
    known = "; ".join(fact for fact in facts if fact)
    text = " ".join(option.description.split())
    return f"- {typed}" + (f" ({known})" if known else "") + (f": {text}" if text else "")


def _in_backticks(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def name_in(kind: str, title: str, content: str, examples: Iterable[str] = ()) -> str:
    """Return what an entry is called exactly: a command, the request line of an endpoint, else nothing."""
    if kind == ReferenceKind.API:
        found = _REQUEST_LINE.search(f"{title}\n{content}")
        return f"{found[1]} {found[2]}" if found else ""
    return _command_in(title, content, list(examples)) if kind == ReferenceKind.COMMAND else ""


def _command_in(title: str, content: str, examples: list[str]) -> str:
    """Return the command that the title names, with the program that the code has in front; else that of the code.

    A title names a command if it has a placeholder, is code itself, or if code begins with its words. The values of an
    example are no part of a command: `gw users get ada@example.com` shows `gw users get`.
    """
    lines = _lines_of(_blocks(content)) or _lines_of(examples)
    named = _until_placeholder(title.strip("` ").split())
    if named and all(map(_COMMAND_WORD.match, named)):
        for words in (*lines, *_lines_of(examples)):
            for before in (0, 1):
                if words[before : before + len(named)] == named:
                    return " ".join(words[: before + len(named)])
        if len(named) < len(title.split()) or title.strip().startswith("`"):
            return " ".join(named)
    first = _until_placeholder(lines[0]) if lines else []
    return " ".join([*first[:1], *takewhile(lambda word: not _CONCRETE.match(word), first[1:])])


def _lines_of(texts: Iterable[str]) -> list[list[str]]:
    lines = (line.split() for text in texts for line in text.splitlines())
    return [words for line in lines if (words := line[1:] if line[:1] in (["$"], [">"]) else line)]


def _until_placeholder(words: list[str]) -> list[str]:
    return list(takewhile(lambda word: not _PLACEHOLDER.match(word), words))


def _blocks(content: str) -> Iterator[str]:
    """Yield what stands in each block of code; the last one may have no end."""
    opens = content.find(_FENCE)
    while opens >= 0 and (begins := content.find("\n", opens) + 1):
        ends = content.find(_FENCE, begins)
        yield content[begins:] if ends < 0 else content[begins:ends]
        opens = -1 if ends < 0 else content.find(_FENCE, ends + len(_FENCE))

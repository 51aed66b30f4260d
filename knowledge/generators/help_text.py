"""Help texts, read: what `prog --help` prints, as argparse, click, cobra, clap, commander, git and npm lay it out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from knowledge.generators.commands import merged_options
from knowledge.generators.drafts import Example, Option
from knowledge.generators.help_options import is_option_row, option_of
from knowledge.generators.usage_lines import read_usage

LONGEST_TEXT = 400_000
MOST_LINES = 8_000


@dataclass(frozen=True)
class Subcommand:
    """A command that a help text lists."""

    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class HelpText:
    """What one help text says."""

    summary: str = ""
    description: str = ""
    usages: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    arguments: tuple[Option, ...] = ()
    subcommands: tuple[Subcommand, ...] = ()
    examples: tuple[Example, ...] = ()


def read_help(text: str) -> HelpText:
    """Read a help text; a line that means nothing in the known layouts is passed over."""
    reader = _Reader()
    lines = text[:LONGEST_TEXT].expandtabs(8).splitlines()[:MOST_LINES]
    for line in (_plain(line) for line in lines):
        reader.take(line)
    return reader.done()


class _Section(StrEnum):
    ABOUT = "about"
    USAGE = "usage"
    OPTIONS = "options"
    ARGUMENTS = "arguments"
    COMMANDS = "commands"
    EXAMPLES = "examples"
    OTHER = "other"


_HEADINGS = (
    (_Section.USAGE, re.compile(r"(usage|synopsis)$", re.I)),
    (_Section.EXAMPLES, re.compile(r"(examples?|example usage)$", re.I)),
    (_Section.COMMANDS, re.compile(r".*\b(sub)?commands?\b.*", re.I)),
    (_Section.ARGUMENTS, re.compile(r"(positional )?(arguments|args|positionals)$", re.I)),
    (_Section.OPTIONS, re.compile(r".*\b(options?|flags|switches|optional arguments|optionals)\b.*", re.I)),
    (_Section.ABOUT, re.compile(r"(description|about|name)$", re.I)),
)
_USAGE = re.compile(r"(?i)usage:\s*(.*)")
_NAME = re.compile(r"[a-z0-9][\w:.+-]*$", re.I)
_BARE_LIST = re.compile(r"[a-z][\w-]*(,\s+[a-z][\w-]*)*,?", re.I)
_STYLING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|.\x08|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass
class _Row:
    """A term and what is said of it, over as many lines as that takes."""

    indent: int
    term: str
    said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(part for part in self.said if part)


@dataclass
class _Reader:
    """Reads line by line, and knows in which section it is."""

    section: _Section = _Section.ABOUT
    about: list[str] = field(default_factory=list)
    usages: list[str] = field(default_factory=list)
    rows: dict[_Section, list[_Row]] = field(default_factory=lambda: {section: [] for section in _Section})
    row: _Row | None = None
    base: int | None = None

    def take(self, line: str) -> None:
        """Read one line."""
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        if not bare:
            self._pause()
        elif (usage := _USAGE.fullmatch(bare)) and indent <= 2:
            self._open(_Section.USAGE)
            self._use(usage[1])
        elif (section := self._heading(bare, indent)) is not None:
            self._open(section)
        else:
            self._body(bare, indent)

    def done(self) -> HelpText:
        """Return what was read."""
        paragraphs = _paragraphs("\n".join(self.about))
        usages = [usage for usage in self.usages if usage]
        from_usage = [read_usage(usage) for usage in usages]
        options = [option for row in self.rows[_Section.OPTIONS] if (option := option_of(row.term, row.text))]
        return HelpText(
            summary=paragraphs[0] if paragraphs else "",
            description="\n\n".join(paragraphs),
            usages=tuple(usages),
            options=merged_options(options, *(usage.options for usage in from_usage)),
            arguments=self._arguments(
                {argument.name: argument for usage in from_usage for argument in usage.arguments}
            ),
            subcommands=tuple(self._subcommands()),
            examples=tuple(self._examples()),
        )

    def _open(self, section: _Section) -> None:
        self.section, self.row, self.base = section, None, None

    def _pause(self) -> None:
        if self.section is _Section.USAGE and any(self.usages):
            self._open(_Section.ABOUT)
        elif self.section is _Section.ABOUT:
            self.about.append("")

    def _heading(self, bare: str, indent: int) -> _Section | None:
        """Return the section that a line opens, if it is a heading."""
        upper = bare.isupper() and len(bare) > 3 and not bare.startswith(("-", "["))
        if indent > 2 or not (bare.endswith(":") or (upper and indent == 0)) or is_option_row(bare):
            return None
        title = bare.rstrip(":").strip()
        for section, pattern in _HEADINGS:
            if pattern.fullmatch(title):
                return section
        prose = indent > 0 or len(title.split()) > 6
        return None if prose else _Section.OTHER

    def _body(self, bare: str, indent: int) -> None:
        if is_option_row(bare) and indent and (self.row is None or indent <= self.row.indent + 4):
            self._start(_Section.OPTIONS, bare, indent)
        elif indent and self.row is not None and is_option_row(self.row.term) and indent > self.row.indent:
            self.row.said.append(bare)
        elif self.section is _Section.USAGE:
            self._use(bare)
        elif self.section is _Section.ABOUT:
            self.about.append(bare)
        elif self.section is _Section.EXAMPLES:
            self._start(_Section.EXAMPLES, bare, indent)
        elif indent == 0:
            self.row = None
        elif self._continues(bare, indent):
            self.row.said.append(bare)  # type: ignore[union-attr]
        elif self.section in (_Section.COMMANDS, _Section.ARGUMENTS):
            self._start(self.section, bare, indent)

    def _use(self, bare: str) -> None:
        if bare.lower().startswith("or: "):
            self.usages.append(bare[4:])
        elif self.usages and self.usages[-1] and _goes_on(self.usages[-1], bare):
            self.usages[-1] += f" {bare}"
        else:
            # npm says behind each usage what it does.
            self.usages.append(_columns(bare)[0])

    def _continues(self, bare: str, indent: int) -> bool:
        """Say whether a line goes on about the row above it."""
        if self.row is None or self.base is None or indent <= self.row.indent:
            return False
        # argparse indents the subcommands two deeper than the argument that they are values of.
        return not (self.section is _Section.ARGUMENTS and indent == self.base + 2)

    def _start(self, section: _Section, bare: str, indent: int) -> None:
        if section is _Section.ARGUMENTS and self.base is not None and indent == self.base + 2:
            section = _Section.COMMANDS
        term, said = _columns(bare)
        self.row = _Row(indent, term, [said])
        if section is not _Section.COMMANDS or self.section is _Section.COMMANDS:
            self.base = indent
        self.rows[section].append(self.row)

    def _arguments(self, in_usage: dict[str, Option]) -> tuple[Option, ...]:
        """Return the arguments that are listed, as optional as the usage says; without a list, those of the usage."""
        rows = [row for row in self.rows[_Section.ARGUMENTS] if row.term and not row.term.startswith("{")]
        names = {name.strip("[]<>."): argument.required for name, argument in in_usage.items()}
        listed = [
            Option(
                name=row.term.strip("[]"),
                description=row.text,
                required=names.get(row.term.strip("[]<>."), not row.term.startswith("[")),
            )
            for row in rows
        ]
        return tuple(listed or in_usage.values())

    def _subcommands(self) -> Iterator[Subcommand]:
        seen: set[str] = set()
        for row in self.rows[_Section.COMMANDS]:
            for found in _commands_in(row):
                if found.name not in seen:
                    seen.add(found.name)
                    yield found

    def _examples(self) -> Iterator[Example]:
        said = ""
        for row in self.rows[_Section.EXAMPLES]:
            line = f"{row.term}  {row.text}".strip()
            if line.startswith("#"):
                said = line.lstrip("# ")
            else:
                yield Example(code=line.removeprefix("$ "), description=said)
                said = ""


def _columns(bare: str) -> tuple[str, str]:
    term, _, said = re.sub(r"\s{2,}", "\0", bare, count=1).partition("\0")
    return term, said


def _commands_in(row: _Row) -> Iterator[Subcommand]:
    whole = f"{row.term} {row.text}".strip()
    if "," in whole and _BARE_LIST.fullmatch(whole) and (not row.text or whole.endswith(",")):
        yield from (Subcommand(name) for name in re.split(r",\s*", whole) if name)
        return
    # commander writes `serve|s [options] <dir>`, clap `build, b`, click `build*`.
    forms = re.split(r"\s+(?=[\[<])", row.term.rstrip(":"), maxsplit=1)[0]
    names = [name.rstrip("*") for name in re.split(r"\s*[,|]\s*", forms)]
    if all(_NAME.match(name) for name in names):
        yield Subcommand(names[0], tuple(names[1:]), row.text)


def _goes_on(usage: str, line: str) -> bool:
    """Say whether a line continues the usage above it: argparse and git wrap, and never repeat the program."""
    return line.split()[0] != usage.split()[0]


def _paragraphs(text: str) -> list[str]:
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return [part for part in parts if part and not re.fullmatch(r"[\w.-]+ <\w+>", part)]


def _plain(line: str) -> str:
    return _STYLING.sub("", line).rstrip()

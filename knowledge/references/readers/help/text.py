"""Help texts, read: what `prog --help` prints, as argparse, click, cobra, clap, commander, git and npm lay it out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from knowledge.references.readers.commands import merge_options
from knowledge.references.readers.drafts import Example, Option
from knowledge.references.readers.help.usage import UsageLine, is_option_row, option_of, read_usage

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
    """What one help text says.

    Attributes:
        lists_all: Whether it does not say of itself that it lists only some of the commands or options.
        fuller: What to type behind the program for a help that lists all, where it says so: `help -a`.
    """

    summary: str = ""
    description: str = ""
    usages: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    arguments: tuple[Option, ...] = ()
    subcommands: tuple[Subcommand, ...] = ()
    examples: tuple[Example, ...] = ()
    lists_all: bool = True
    fuller: tuple[str, ...] = ()


def read_help(text: str) -> HelpText:
    """Read a help text; a line that means nothing in the known layouts is passed over."""
    reader = _HelpReader()
    lines = [_plain(line) for line in text[:LONGEST_TEXT].expandtabs(8).splitlines()[:MOST_LINES]]
    for line in lines:
        reader.take(line)
    fuller = next((found[1] for line in lines if (found := _FULLER.search(line))), "")
    lists_all = not fuller and not any(_ONLY_SOME.search(line) for line in lines)
    return replace(reader.result(), lists_all=lists_all, fuller=tuple(fuller.split()))


class _Section(StrEnum):
    ABOUT = "about"
    USAGE = "usage"
    OPTIONS = "options"
    ARGUMENTS = "arguments"
    COMMANDS = "commands"
    EXAMPLES = "examples"
    OTHER = "other"


_HEADINGS = (
    (_Section.USAGE, re.compile(r"^(usage|synopsis)$", re.I)),
    (_Section.EXAMPLES, re.compile(r"^(examples?|example usage)$", re.I)),
    (_Section.COMMANDS, re.compile(r"\b(sub)?commands?\b", re.I)),
    (_Section.ARGUMENTS, re.compile(r"^(positional )?(arguments|args|positionals)$", re.I)),
    (_Section.OPTIONS, re.compile(r"\b(options?|flags|switches|optional arguments|optionals)\b", re.I)),
    (_Section.ABOUT, re.compile(r"^(description|about|name)$", re.I)),
)
_UNMARKED = re.compile(r"[A-Z][\w-]*(?: [\w-]+){0,4}(?: / [\w -]+)?")
_NO_COMMANDS = re.compile(r"\b(?:interfaces|formats|guides|topics|concepts)$", re.I)
_FULLER = re.compile(r"(?<![\w-])(help -a|--help all|help --all|--help-all)(?![\w-])")
_ONLY_SOME = re.compile(
    r"\b(?:some|common|most(?: commonly)? used|popular) [\w -]{0,40}(?:commands|options)\b[^:]{0,40}(?: are| used)\b"
    r"|\bnot the full help\b|\bsee all (?:commands|options)\b",
    re.I,
)
_USAGE = re.compile(r"(?i)usage:\s*(.*)")
_PROSE = re.compile(r"[A-Z][a-z']*(?: [a-z'(]+){2}")
_NAME = re.compile(r"[a-z0-9](?:[\w:.+-]*[\w+])?$", re.I)
_BULLET = re.compile(r"[-*•] (?P<name>[a-z0-9][\w-]*): (?P<said>.*)", re.I)
_CLOSE_ROW = re.compile(r"(?P<term>-[^\s,]+(?:, -[^\s,]+)? <[^<>]*>) (?P<said>[A-Z].*)")
_BARE_LIST = re.compile(r"[a-z][\w-]*(,\s+[a-z][\w-]*)*,?", re.I)
_STYLING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|.\x08|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass
class _HelpRow:
    """A term and its description, which may go over several lines."""

    indent: int
    term: str
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(part for part in self.parts if part)


@dataclass
class _HelpReader:
    """Reads line by line, and knows in which section it is."""

    section: _Section = _Section.ABOUT
    about: list[str] = field(default_factory=list)
    usages: list[str] = field(default_factory=list)
    rows: dict[_Section, list[_HelpRow]] = field(default_factory=lambda: {section: [] for section in _Section})
    row: _HelpRow | None = None
    base: int | None = None
    usage_indent: int = 0
    in_grid: bool = False

    def take(self, line: str) -> None:
        """Read one line."""
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        if not bare:
            self._pause()
        elif (usage := _USAGE.fullmatch(bare)) and indent <= 2:
            self._open(_Section.USAGE)
            self.usage_indent = indent
            self._use(usage[1])
        elif (section := self._heading(bare, indent)) is not None:
            self._open(section)
        else:
            self._body(bare, indent)

    def result(self) -> HelpText:
        """Return what was read."""
        paragraphs = _paragraphs("\n".join(self.about))
        usages = [usage for usage in self.usages if usage]
        from_usage = _with_what_all_require([read_usage(usage) for usage in usages])
        options = [option for row in self.rows[_Section.OPTIONS] if (option := option_of(row.term, row.text))]
        return HelpText(
            summary=paragraphs[0] if paragraphs else "",
            description="\n\n".join(paragraphs),
            usages=tuple(usages),
            options=merge_options(options, *(usage.options for usage in from_usage)),
            arguments=self._arguments(
                {argument.name: argument for usage in from_usage for argument in usage.arguments}
            ),
            subcommands=tuple(self._subcommands()),
            examples=tuple(self._examples()),
        )

    def _open(self, section: _Section) -> None:
        self.section, self.row, self.base, self.in_grid = section, None, None, False

    def _pause(self) -> None:
        if self.section is _Section.USAGE and any(self.usages):
            self._open(_Section.ABOUT)
        elif self.section is _Section.ABOUT:
            self.about.append("")

    def _heading(self, bare: str, indent: int) -> _Section | None:
        """Return the section that a line opens, if it is a heading."""
        if indent == 0 and (section := self._heading_without_colon(bare)) is not None:
            return section
        upper = bare.isupper() and len(bare) > 3 and not bare.startswith(("-", "["))
        if indent > 2 or not (bare.endswith(":") or (upper and indent == 0)) or is_option_row(bare):
            return None
        title = bare.rstrip(":").strip()
        for section, pattern in _HEADINGS:
            if pattern.search(title):
                return section
        prose = indent > 0 or len(title.split()) > 6
        return None if prose else _Section.OTHER

    def _heading_without_colon(self, bare: str) -> _Section | None:
        """Return the section that a heading without a colon opens, as git and openssl have them."""
        title = re.sub(r"(?<!\s)\s*+\([^()]*\)$", "", bare)
        if _UNMARKED.fullmatch(title) and re.search(r"\bcommands(?: /|$)", title, re.I):
            return _Section.COMMANDS
        return _Section.OTHER if self.section is _Section.COMMANDS and _NO_COMMANDS.search(title) else None

    def _body(self, bare: str, indent: int) -> None:
        if self.section is _Section.COMMANDS and (names := self._grid(bare)):
            self.rows[_Section.COMMANDS] += [_HelpRow(indent, name) for name in names]
        elif self.section is _Section.OPTIONS and bare.startswith("[-") and any(self.usages):
            # npm writes the options of a usage line below a heading of their own.
            self.usages[-1] += f" {bare}"
        elif is_option_row(bare) and indent and (self.row is None or indent <= self.row.indent + 4):
            self._start(_Section.OPTIONS, bare, indent)
        elif indent and self.row is not None and is_option_row(self.row.term) and indent > self.row.indent:
            self.row.parts.append(bare)
        elif self.section is _Section.USAGE and self._is_usage(bare, indent):
            self._use(bare)
        elif self.section is _Section.USAGE:
            self._open(_Section.ABOUT)
            self.about.append(bare)
        elif self.section is _Section.ABOUT:
            self.about.append(bare)
        elif self.section is _Section.EXAMPLES:
            self._start(_Section.EXAMPLES, bare, indent)
        elif indent == 0:
            self.row = None
        elif self._continues(bare, indent):
            self.row.parts.append(bare)  # type: ignore[union-attr]
        elif self.section in (_Section.COMMANDS, _Section.ARGUMENTS):
            self._start(self.section, bare, indent)

    def _grid(self, bare: str) -> list[str]:
        """Return the names of a line that lists nothing but names in columns, as openssl does."""
        names = re.split(r"\s{2,}", bare)
        is_grid = (len(names) > 2 or self.in_grid) and all(_NAME.fullmatch(name) for name in names)
        self.in_grid = is_grid
        return names if is_grid else []

    def _is_usage(self, bare: str, indent: int) -> bool:
        """Say whether a line below a usage goes on with it, or is another one: prose is neither."""
        if not any(self.usages) or bare.lower().startswith("or: ") or bare.startswith(("[", "<", "{", "(", "-", "|")):
            return True
        if bare.split()[0] == next(filter(None, self.usages)).split()[0]:
            return True
        return indent > self.usage_indent + 2 and not _PROSE.match(bare)

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
        term, text = _columns(bare)
        self.row = _HelpRow(indent, term, [text])
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
        text = ""
        for row in self.rows[_Section.EXAMPLES]:
            line = f"{row.term}  {row.text}".strip()
            if line.startswith("#"):
                text = line.lstrip("# ")
            else:
                yield Example(code=line.removeprefix("$ "), description=text)
                text = ""


def _with_what_all_require(lines: list[UsageLine]) -> list[UsageLine]:
    """Return usage lines in which only that is required which every one of them requires."""
    of_each = [{part.name for part in (*line.arguments, *line.options) if part.required} for line in lines]
    required = set.intersection(*of_each) if of_each else set()
    return [
        replace(
            line,
            arguments=tuple(_with_required(part, part.name in required) for part in line.arguments),
            options=tuple(_with_required(part, part.name in required) for part in line.options),
        )
        for line in lines
    ]


def _with_required(part: Option, is_required: bool) -> Option:
    return part.model_copy(update={"required": is_required})


def _columns(bare: str) -> tuple[str, str]:
    # curl leaves one space between a value and what is said: `-X, --request <method> Specify a method`.
    if close := _CLOSE_ROW.match(bare):
        return close["term"], close["said"].strip()
    term, _, text = re.sub(r"\s{2,}", "\0", bare, count=1).partition("\0")
    return term, text


def _commands_in(row: _HelpRow) -> Iterator[Subcommand]:
    whole = f"{row.term} {row.text}".strip()
    if "," in whole and _BARE_LIST.fullmatch(whole) and (not row.text or whole.endswith(",")):
        yield from (Subcommand(name) for name in re.split(r",\s*", whole) if name)
        return
    if bullet := _BULLET.match(whole):
        yield Subcommand(bullet["name"], (), bullet["said"])
        return
    # commander writes `serve|s [options] <dir>`, clap `build, b`, click `build*`.
    forms = re.split(r"(?<!\s)\s+(?=[\[<])", row.term.rstrip(":"), maxsplit=1)[0]
    names = [name.strip().rstrip("*") for name in re.split(r"[,|]", forms)]
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

"""Help texts, read: what `prog --help` prints, as argparse, click, cobra, clap, commander, git and npm lay it out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, pairwise, takewhile, zip_longest

from knowledge.references.readers.commands import merge_options
from knowledge.references.readers.help.usage import UsageLine, is_option_row, option_of, read_usage
from knowledge.references.readers.reference_drafts import Example, Option

LONGEST_TEXT = 400_000
MOST_LINES = 8_000


@dataclass(frozen=True)
class Subcommand:
    """A command that a help text lists; `takes` is what stands behind its name there: `UNIT...`."""

    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    takes: str = ""


@dataclass(frozen=True)
class HelpText:
    """What one help text says.

    Attributes:
        lists_all: Whether it does not say of itself that it lists only some of the commands or options.
        fuller: What to type behind the program for a help that lists all, where it says so: `help -a`.
        aliases: Other words for the command that it is about: `i` of `npm install`.
        lists_options: Whether a library wrote it that lists every option, as its words for `--help` show.
        options_for_all: Whether it says that its options, or those of the fuller help, belong to every command.
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
    aliases: tuple[str, ...] = ()
    options_for_all: bool = False
    lists_options: bool = False


def read_help(text: str, of: str = "") -> HelpText:
    """Read the help text of a command; a line that means nothing in the known layouts is passed over."""
    reader = _HelpReader(of)
    plain = [_plain(line) for line in text[:LONGEST_TEXT].expandtabs(8).splitlines()[:MOST_LINES]]
    lines = _with_marked_headings(plain)
    for line in lines:
        reader.take(line)
    fuller = next((found for line in lines if (found := _FULLER.search(line))), None)
    names_fuller = "list" if fuller and fuller["list"] else next(filter(None, fuller.groups()), "") if fuller else ""
    return replace(
        reader.result(),
        lists_all=not (reader.unread or (fuller and not fuller["options"]) or any(map(_ONLY_SOME.search, lines))),
        fuller=tuple(names_fuller.split()),
        options_for_all=any(map(_FOR_ALL.search, lines)),
        lists_options=(_is_of_a_formatter(lines) or bool(fuller and fuller["options"]))
        and not any(map(_ONLY_SOME.search, lines)),
    )


def _with_marked_headings(lines: Sequence[str]) -> list[str]:
    """Return lines in which a heading that is underlined ends with a colon, as others do."""
    return [
        f"{line}:" if _UNDERLINE.fullmatch(following) and line.strip() and not line.endswith(":") else line
        for line, following in zip_longest(lines, lines[1:], fillvalue="")
        if not _UNDERLINE.fullmatch(line)
    ]


def _is_of_a_formatter(lines: Sequence[str]) -> bool:
    """Whether a formatter wrote the option for help; clap says what an option does on the next line."""
    beside = (f"{line} {after.strip()}" for line, after in pairwise(lines) if line.rstrip().endswith("--help"))
    return any(map(_OF_A_FORMATTER.search, chain(lines, beside)))


class _Section(StrEnum):
    ABOUT = "about"
    USAGE = "usage"
    OPTIONS = "options"
    ARGUMENTS = "arguments"
    COMMANDS = "commands"
    EXAMPLES = "examples"
    OTHER = "other"


_HEADINGS = (
    (_Section.USAGE, re.compile(r"^(usage|syntax|synopsis)$", re.I)),
    (_Section.EXAMPLES, re.compile(r"^(examples?|example usage)$", re.I)),
    (_Section.COMMANDS, re.compile(r"\b(sub)?commands?\b", re.I)),
    (_Section.ARGUMENTS, re.compile(r"^(positional )?(arguments|args|positionals)$", re.I)),
    (_Section.OPTIONS, re.compile(r"\b(options?|flags|switches|optional arguments|optionals)\b", re.I)),
    (_Section.ABOUT, re.compile(r"^(description|about|name)$", re.I)),
)
_UNDERLINE = re.compile(r"\s{0,8}(?:={3,80}|-{3,80})")
_UNMARKED = re.compile(r"[A-Z][\w-]*(?: [\w-]+){0,4}(?: / [\w -]+)?")
# meow and cmake write headings like this.
_PLAIN_HEADING = re.compile(r"Usage|Options|Commands|Arguments|Flags|Examples?")
_NO_COMMANDS = re.compile(r"\b(?:interfaces|formats|guides|topics|concepts)$", re.I)
# A console of Symfony or cleo answers with the help of its command `list`, and kubectl keeps its options elsewhere.
_FULLER = re.compile(
    r"(?<![\w-])(help -a|--help all|help --all|--help-all|--long-help)(?![\w-])|^\s*(?P<list>Lists? commands)\.?$"
    r"|\bUse \"[\w-]+ (?P<options>options)\""
)
_FOR_ALL = re.compile(r"\boptions\b.{0,40}\b(?:applies to all|can be passed to any) commands?\b", re.I)
# How click, argparse and optparse, cobra, clap, commander, cac, argp and the GNU tools word the option for help itself:
# they list each option that is declared.
_OF_A_FORMATTER = re.compile(
    r"^\W{0,12}(?:-[h?],?\s{1,8})?--(?:long-)?help\b.{0,60}?\s"
    r"(?:show this (?:help )?message and exit\.?|help for [\w./-]+|show this help, then exit"
    r"|prints? help(?: information)?(?: \(.{0,60}\))?|display help for command"
    r"|display the concise help for this command|show help\s{1,80}\[boolean\]|show this screen\."
    r"|display this long help and exit|display this message|print this help text and exit|show help\."
    r"|give this help list|get help on this command\.|print this help text|display help for the given command\. .{0,80}"
    r"|(?:display|print|output|show)s? (?:this help(?: message)?|(?:this )?usage information)(?: and (?:exit|quits?))?)"
    r"\W{0,4}$"
    # nm, objcopy, readelf: gcc, whose help is not whole, has no short form.
    r"|^\W{0,12}-h,?\s{1,8}--help\s{1,60}display this (?:information|output)$",
    re.I,
)
_ONLY_SOME = re.compile(
    r"\b(?:some|common|popular) [\w -]{0,40}(?:commands|options)\b[^:]{0,40}(?: are| used)\b"
    r"|\b(?:most(?: commonly)? used|commonly used) (?:\w+ )?(?:commands|options)\b|\bsome of the options\b"
    r"|\bnot the full help\b|\bsee all (?:commands|options)\b",
    re.I,
)
_USAGE = re.compile(r"(?i)(?:usage|syntax):\s*(.*)")
_OR = re.compile(r"or(?:: | {1,8}(?=[\w.-]{1,60} [\[<-]))", re.I)
_PROSE = re.compile(r"[A-Z][a-z']*(?: [a-z'(]+){2}")
_NAME = re.compile(r"[a-z0-9](?:[\w:.+-]*[\w+])?$", re.I)
_BULLET = re.compile(
    r"(?:[-*•] (?P<name>[a-z0-9][\w-]*)(?: / [\w-]+)?(?::\s|$)|(?P<bare>[a-z][\w-]*) - )(?P<said>.*)", re.I
)
_CLOSE_ROW = re.compile(r"(?P<term>--?[^\s,]+(?:, --?[^\s,]+)?(?: <[^<>]*>\S*| \[\S*)?) (?P<said>[A-Z][a-z]+ .*)")
# `-t,  --tries=NUMBER`: wget leaves room between the forms.
_FORMS_APART = re.compile(r"^(-\S,)\s+(?=--)")
_TAKES_WORDS = re.compile(r"(?P<name>[a-z][\w-]*) (?=[A-Z]{2})")
_PLACEHOLDERS = re.compile(r"(?:(?:[A-Z][A-Z0-9=.|_-]+|[\[<{(]\S*)(?:\s|$))*")
_TWO_WORDS = re.compile(r"[a-z][\w-]*(?: [a-z][\w-]*){1,2}")
_ALIASES = re.compile(r"alias(?:es)?:\s*(?P<names>[\w-]+(?:,\s*[\w-]+)*)", re.I)
_SYNOPSIS = re.compile(r"(?P<program>[a-z][\w.-]*) (?:\[|<|[A-Z]{2,}\b)")
_BARE_LIST = re.compile(r"[a-z][\w-]*(,\s+[a-z][\w-]*)*,?", re.I)
_SWITCH_OF_YARGS = re.compile(r"\[(?:boolean|count)\]")
_METAVAR = re.compile(r"[A-Z][A-Z0-9_ .:|-]{0,60}|<.{1,200}>|\[.{1,300}[|].{1,300}\]|\{.{1,200}\}")
_NOTICE = re.compile(r"[A-Z][a-z]+: |.{0,300}?[a-z]{2}\. [A-Z]|.{0,300}?https?://")
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

    of: str = ""
    section: _Section = _Section.ABOUT
    about: list[str] = field(default_factory=list)
    usages: list[str] = field(default_factory=list)
    rows: dict[_Section, list[_HelpRow]] = field(default_factory=lambda: {section: [] for section in _Section})
    row: _HelpRow | None = None
    base: int | None = None
    usage_indent: int = 0
    in_grid: bool = False
    aliases: list[str] = field(default_factory=list)
    unread: bool = False
    text_at: int = 0
    usage_body: int = 0
    above: tuple[str, int] = ("", 0)
    in_sentence: bool = False

    def take(self, line: str) -> None:
        """Read one line."""
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        above, self.above = self.above, (bare, indent)
        self.in_sentence = indent == above[1] and self._is_sentence(above[0])
        if not bare:
            self._pause()
        elif found := _ALIASES.fullmatch(bare):
            self.aliases += re.split(r",\s*", found["names"])
        elif not (self.usages or self.about) and indent == 0 and _SYNOPSIS.match(bare):
            # systemctl begins with its usage, and does not call it that.
            self._open(_Section.USAGE)
            self._use(bare)
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
        if any(_SWITCH_OF_YARGS.search(option.description) for option in options):
            options = [option if option.value else _option_of_yargs(option) for option in options]
        return HelpText(
            summary=paragraphs[0] if paragraphs else "",
            description="\n\n".join(paragraphs),
            usages=tuple(usages),
            options=merge_options(options, *(usage.options for usage in from_usage)),
            arguments=self._arguments(
                {argument.name: argument for usage in from_usage for argument in usage.arguments}
            ),
            subcommands=tuple(self._subcommands()),
            aliases=tuple(self.aliases),
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
        is_marked = bare.endswith(":") or (upper and indent == 0) or _PLAIN_HEADING.fullmatch(bare)
        if indent > 2 or not is_marked or is_option_row(bare):
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
        elif self.in_sentence and is_option_row(bare):
            self.above = ("…", indent)
        elif (
            is_option_row(bare)
            and (indent or self.section is _Section.OPTIONS or "  " in bare)
            and not self._is_text_of_option(indent)
        ):
            self._start(_Section.OPTIONS, bare, indent)
        elif indent and self.row is not None and is_option_row(self.row.term) and indent > self.row.indent:
            self.row.parts.append(bare)
        elif self.section is _Section.USAGE and self._is_usage(bare, indent):
            self._use(bare, indent)
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

    def _is_sentence(self, above: str) -> bool:
        """Say whether a line is prose that the next one goes on with: of three words, without an end."""
        is_row = is_option_row(above) or "  " in above or self.section in (_Section.USAGE, _Section.COMMANDS)
        return not is_row and above[-1:] not in (".", ":", "!", "?", "]", ">") and len(above.split()) > 3

    def _is_text_of_option(self, indent: int) -> bool:
        """Say whether a line with a dash goes on about the option above it: it begins where its text does."""
        row = self.row
        if row is None:
            return False
        return indent >= self.text_at if self.text_at else indent > row.indent + 4

    def _grid(self, bare: str) -> list[str]:
        """Return the names of a line that lists nothing but names in columns, as openssl does."""
        names = re.split(r"\s{2,}", bare)
        is_grid = (len(names) > 2 or self.in_grid) and all(_NAME.fullmatch(name) for name in names)
        self.in_grid = is_grid
        return names if is_grid else []

    def _is_usage(self, bare: str, indent: int) -> bool:
        """Say whether a line below a usage goes on with it, or is another one: prose is neither."""
        if _NOTICE.match(bare):
            return False
        if not any(self.usages) or _OR.match(bare) or bare.startswith(("[", "<", "{", "(", "-", "|")):
            return True
        if self.usages[-1].count("[") > self.usages[-1].count("]"):
            return True
        if bare.split()[0] == next(filter(None, self.usages)).split()[0]:
            return True
        return indent > self.usage_indent + 2 and not _PROSE.match(bare)

    def _use(self, bare: str, indent: int = 0) -> None:
        bare = bare.removeprefix("$ ")
        if not bare:
            return
        # The manual of gzip shows that of gunzip beside it.
        is_beside = bool(self.usages) and 0 < indent <= self.usage_body and bare[0] not in "[<{(-|"
        # argparse writes arguments below its options.
        is_beside = is_beside and "[-h]" not in self.usages[0]
        self.usage_body = self.usage_body or indent
        if found := _OR.match(bare):
            self.usages.append(bare[found.end() :])
        elif self.usages and self.usages[-1] and not is_beside and _goes_on(self.usages[-1], bare):
            self.usages[-1] += f" {bare}"
        else:
            # npm says behind each usage what it does.
            self.usages.append(_columns(bare)[0])

    def _continues(self, bare: str, indent: int) -> bool:
        """Say whether a line goes on about the row above it."""
        if self.row is None or self.base is None or indent <= self.row.indent:
            return False
        if self.section is _Section.COMMANDS and not self.row.text and bare.startswith(f"{self.row.term} "):
            return False
        if self.section is _Section.COMMANDS and not any(_commands_in(self.row)):
            # argparse writes a sentence above the commands, and all of them in braces.
            return False
        # argparse indents the subcommands two deeper than the argument that they are values of.
        return not (self.section is _Section.ARGUMENTS and indent == self.base + 2)

    def _start(self, section: _Section, bare: str, indent: int) -> None:
        if section is _Section.ARGUMENTS and self.base is not None and indent == self.base + 2:
            section = _Section.COMMANDS
        term, text = _columns(bare)
        above = self.text_at - indent
        if section is _Section.COMMANDS and not text and above > 1 and _NAME.fullmatch(bare[: above - 1]):
            # cobra leaves one space behind the longest name.
            term, text = bare[: above - 1], bare[above:]
        self.row = _HelpRow(indent, term, [text])
        self.text_at = indent + len(bare) - len(text) if text else 0
        if section is not _Section.COMMANDS or self.section is _Section.COMMANDS:
            self.base = indent
        self.rows[section].append(self.row)

    def _arguments(self, in_usage: dict[str, Option]) -> tuple[Option, ...]:
        """Return the arguments of the usage with what the list says of them; those of the list where it has none."""
        rows = [row for row in self.rows[_Section.ARGUMENTS] if row.term and not row.term.startswith("{")]
        if not in_usage:
            return tuple(
                Option(name=row.term.strip("[]"), description=row.text, required=not row.term.startswith("["))
                for row in rows
            )
        listed = {row.term.strip("[]<>."): row for row in rows}
        return tuple(_as_listed(argument, listed.get(argument.name.strip("[]<>."))) for argument in in_usage.values())

    def _subcommands(self) -> Iterator[Subcommand]:
        seen: set[str] = set()
        letters = 0
        for row in self.rows[_Section.COMMANDS] or self._only_choices():
            # yargs writes the program in front of each.
            row.term = row.term.removeprefix(f"{self.of} ")
            read = list(_commands_in(row))
            # `[ more ]` stands for commands that are not listed here.
            self.unread = self.unread or (not read and "more" in row.term.split())
            # Symfony's consoles list what is below a command beside it: `cache`, `cache clear`.
            if not read and row.text and _TWO_WORDS.fullmatch(row.term) and row.term.split()[0] in seen:
                read = [Subcommand(row.term, (), row.text)]
            for found in read:
                if found.name not in seen:
                    seen.add(found.name)
                    letters += len(found.name) == 1
                    yield found
        # Letters are typed together: `ar rcs`.
        self.unread = self.unread or letters > max(2, len(seen) // 2)

    def _only_choices(self) -> list[_HelpRow]:
        """Return the commands that argparse names in braces alone: `{register,check,upload}`."""
        rows = self.rows[_Section.ARGUMENTS]
        if len(rows) != 1 or not re.fullmatch(r"\{[\w,-]+\}", rows[0].term):
            return []
        return [_HelpRow(rows[0].indent, name) for name in rows[0].term.strip("{}").split(",")]

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
    """Return usage lines in which only that is required which every one of them requires.

    Usage lines are alternatives: what one of them asks for, another need not have.
    """
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


def _as_listed(argument: Option, row: _HelpRow | None) -> Option:
    """Return an argument of a usage line with what the list says of it: its text, and whether it repeats."""
    repeats = row is not None and row.term.endswith("...") and not argument.name.endswith("...")
    name = f"{argument.name}..." if repeats else argument.name
    return argument.model_copy(update={"name": name, "description": row.text if row else ""})


def _option_of_yargs(option: Option) -> Option:
    """Return an option of yargs, which writes a type behind what it says: all but switches and counts take a value."""
    takes_none = _SWITCH_OF_YARGS.search(option.description) or option.name in ("--help", "--version")
    return option if takes_none else option.model_copy(update={"value": "<value>"})


def _with_required(part: Option, is_required: bool) -> Option:
    return part.model_copy(update={"required": is_required})


def _columns(bare: str) -> tuple[str, str]:
    term, _, text = re.sub(r"\s{2,}", "\0", _FORMS_APART.sub(r"\1 ", bare), count=1).partition("\0")
    # curl leaves one space between a value and what is said: `-X, --request <method> Specify a method`.
    if close := _CLOSE_ROW.fullmatch(term):
        return close["term"], f"{close['said']} {text}".strip()
    return term, text


def _commands_in(row: _HelpRow) -> Iterator[Subcommand]:
    whole = f"{row.term} {row.text}".strip()
    if "," in whole and _BARE_LIST.fullmatch(whole) and (not row.text or whole.endswith(",")):
        yield from (Subcommand(name) for name in re.split(r",\s*", whole) if name)
        return
    if bullet := _BULLET.match(whole):
        yield Subcommand(bullet["name"] or bullet["bare"], (), bullet["said"])
        return
    # commander writes `serve|s [options] <dir>`, clap `build, b`, click `build*`.
    # tox writes `run (r)`, systemctl `start UNIT...`, and docker `ls*`.
    forms = re.sub(r"^([\w-]+) \(([\w, -]+)\)$", r"\1, \2", row.term.rstrip(":"))
    forms, takes = [*re.split(r"(?<!\s)\s+(?=[\[<{(])", forms, maxsplit=1), ""][:2]
    if taking := _TAKES_WORDS.match(forms):
        forms, takes = taking["name"], f"{forms[taking.end() :]} {takes}"
    takes = _PLACEHOLDERS.match(takes.strip())[0].strip()  # type: ignore[index]
    names = [name.strip().rstrip("*") for name in re.split(r"[,|]", forms)]
    if all(_NAME.match(name) for name in names):
        yield Subcommand(names[0], tuple(names[1:]), row.text, takes)


def _goes_on(usage: str, line: str) -> bool:
    """Say whether a line continues the usage above it: argparse and git wrap, and never repeat the program."""
    return line.split()[0] != usage.split()[0]


def _paragraphs(text: str) -> list[str]:
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return [part for part in parts if part and not re.fullmatch(r"[\w.-]+ <\w+>", part)]


def _plain(line: str) -> str:
    return _without_frame(_STYLING.sub("", line).rstrip())


def _without_frame(line: str) -> str:
    """Return a line of a box as rich draws it: its title as a heading, and a row with its forms and value together."""
    bare = line.strip()
    if bare[:1] in ("╭", "┌") and bare[:1]:
        title = bare.strip("╭┌─╮┐ ")
        return f"{title}:" if title else ""
    if bare[:1] in ("╰", "└") and bare[:1]:
        return ""
    if bare[:1] not in ("│", "┃") or not bare:
        return line
    inner = bare.strip("│┃").rstrip()
    cells = re.split(r"\s{2,}", inner.strip())
    required = cells[0] == "*"
    cells = cells[required:]
    if not cells or not is_option_row(cells[0]):
        return f"  {'  '.join(cells)}  [required]" if required else inner
    forms = list(takewhile(is_option_row, cells))
    values = [cell for cell in cells[len(forms) : len(forms) + 1] if _METAVAR.fullmatch(cell)]
    text = " ".join(cells[len(forms) + len(values) :]) + (" [required]" if required else "")
    return f"  {', '.join(forms)} {''.join(values)}  {text}"

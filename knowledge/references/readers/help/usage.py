"""Usage lines and rows of options: words, arguments and options of `tool users get <email> [--format=table|json]`."""

import re
from dataclasses import dataclass, field

from knowledge.references.readers.reference_drafts import Option

LONGEST_LINE = 8_000
DEEPEST_BRACKETS = 4
LONGEST_VALUE = 3
"""Words that stand for the value of an option: with more of them it is prose."""

_TOKEN = re.compile(r"""
    \[ (?: [^\[\]] | \[ [^\[\]]* \] )* \]\S*   # [optional], one level of nesting
  | \( (?: [^()] | \( [^()]* \) )* \)\S*       # (one | other)
  | \{ [^{}]* \}\S*                            # {a,b,c}
  | < (?: [^<>] | <[^<>]*> )* >\S*             # <value>, <a|--from <b>>
  | "[^"]*" | '[^']*'
  | -[^\s\[\]=]+ = (?: "[^"]*" | '[^']*' | <[^<>]*>\S* | \S+ )   # --name="two words"
  | [^\s\[\]]+ | \S
""", re.VERBOSE)  # fmt: skip
_OPTION = re.compile(
    r"(?P<name>--?(?:\[no-?\])?[A-Za-z0-9?][\w.-]*)(?P<open>\[)?(?P<joint>[= ])?(?P<value>.*)", re.DOTALL
)
_NO = re.compile(r"\[no-?\]")
_WORD = re.compile(r"[a-z0-9@][\w.:@/+-]*$", re.IGNORECASE)
_OPTIONS_PLACE = re.compile(r"\[?<?(?:[\w-]{0,30}[ -])?(?:options?|flags|opts)(?:\.\.\.)?>?\]?(?:\.\.\.)?$", re.I)
_ALTERNATIVES = re.compile(r"(?<!\s)\s+\|\s+|\|(?=-)|(?<=>)\|")

_OFFERED = re.compile(r"[({]?(?P<words>[a-z][\w-]*(?:\|[a-z][\w-]*)+)[)}]?")
_ASIDE = re.compile(r"(?:same as|see|to|e\.g\.|for example)\b", re.I)
# `rustup[EXE] update`
_ON_PROGRAM = re.compile(r"^([\w-]{1,40})\[\w{1,8}\](?= )")
_NESTED = re.compile(r"\[(<?\w[\w|-]{0,60}>?(?:\.\.\.)?)((?: \[[^\[\]]{0,200}\](?:\.\.\.)?){1,9})\]")
# `[-46AaCf]` are switches, and `[-algorithm]` is one option: only switches mix cases or stand in the alphabet's order.
_CLUSTER = re.compile(r"\[-(?P<letters>[A-Za-z0-9]{3,60})\]")

_KIND_OF_VALUE = re.compile(
    r"(?i:file(?:name)?s?|ur[il]s?|paths?|data|str(?:ing)?|text|dir(?:ectory)?|hosts?|num(?:ber)?|int(?:eger)?|float"
    r"|bool(?:ean)?|array|object|list|regexp?|glob|pkg|script\.js)"
    r"|UNIT|PATTERN|PID"
)

_SEVERAL = re.compile(r"FILES|PATHS|DIRS|NAMES|ARGS")
_ROW = re.compile(r"--?[A-Za-z0-9?@#:.\[]")
_FORM = re.compile(r"(?P<name>--?(?:\[no-?\])?[A-Za-z0-9?@#:.][\w.-]*)(?P<rest>.*)", re.DOTALL)
_DEFAULT = re.compile(
    r"[\[(]default(?:s to)?[:=]?\s*(?:is\s+)?(?P<value>\"[^\"]{0,500}\"|[^\])]{0,500})[\])]"
    r"|\bdefault: (?P<bare>[^\s)\]]+)[)\]]?$",
    re.I,
)
_VALUES = re.compile(r"(?:possible values|choices|one of|values)[:=]\s*[\[(]?(?P<values>[^\])]*)[\])]?", re.I)
_BULLETS = re.compile(r"Possible values:(?P<bullets>\s+- .*)", re.I | re.DOTALL)
_OPTIONAL = re.compile(r"\s*\[=?([^\[\]]*)\]")
_REQUIRED = re.compile(r"[\[(]required[\])]", re.I)


@dataclass(frozen=True)
class UsageLine:
    """A usage line in parts.

    Attributes:
        words: Words to type as they stand, up to the first that is not.
        says_options: Whether it names a place for options (`[options]`).
        behind: Words to type as they stand, behind options: `list` of `pip config [<file-option>] list`.
    """

    text: str
    words: tuple[str, ...]
    arguments: tuple[Option, ...] = ()
    options: tuple[Option, ...] = ()
    says_options: bool = False
    behind: tuple[str, ...] = ()


def usage_lines(text: str) -> list[str]:
    """Return a usage line for each of the words that it offers as a command: `git bisect (good|old) [<rev>]`."""
    line = " ".join(text[:LONGEST_LINE].split())
    words = line.split()
    place = next((number for number, word in enumerate(words) if not _WORD.match(word)), len(words))
    found = _OFFERED.fullmatch(words[place]) if place < len(words) else None
    if found is None:
        return [line]
    return [" ".join([*words[:place], word, *words[place + 1 :]]) for word in found["words"].split("|")]


def read_usage(text: str) -> UsageLine:
    """Read one usage line; what has no meaning in the notation is passed over."""
    # bpaf breaks lines within brackets.
    line = re.sub(r"(?<=[=\[]) | (?=\])", "", " ".join(text[:LONGEST_LINE].split()))
    # `[DBNAME [USERNAME]]` is one optional argument behind another.
    line = _ON_PROGRAM.sub(r"\1", line)
    for _ in range(DEEPEST_BRACKETS):
        line = _NESTED.sub(r"[\1]\2", line)
    reader = _Reader(_TOKEN.findall(line), has_placeholders="<" in line)
    for place in range(len(reader.tokens)):
        reader.take(place)
    return UsageLine(
        line,
        tuple(reader.words),
        tuple(reader.arguments),
        tuple(reader.options),
        reader.says_options,
        tuple(reader.behind),
    )


@dataclass
class _Reader:
    """Reads piece by piece: words, then options and arguments."""

    tokens: list[str]
    has_placeholders: bool
    words: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    arguments: list[Option] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    says_options: bool = False
    takes_value: bool = False

    def take(self, place: int) -> None:
        """Read one piece."""
        token = self.tokens[place]
        took_value, self.takes_value = self.takes_value, False
        if token in ("...", "…"):
            self._repeat()
        elif _OPTIONS_PLACE.match(token):
            self.says_options = True
        elif switches := _switches_in(token):
            self.options += [Option(name=f"-{letter}") for letter in switches]
        elif _is_option(token):
            self._take_options(place)
        elif took_value and (token.startswith(("<", "{")) or _is_placeholder(token)):
            pass
        elif token.startswith("("):
            self._take_group(token)
        elif self._is_word(token) and self.tokens[place + 1 : place + 2] not in (["..."], ["…"]):
            (self.behind if self.options or self.says_options else self.words).append(token)
        elif (argument := _argument_of(token)) is not None:
            # `<a> | <b>`: neither has to be there.
            is_one_of = "|" in self.tokens[max(0, place - 1) : place + 2]
            self.arguments.append(argument.model_copy(update={"required": False}) if is_one_of else argument)

    def _is_word(self, token: str) -> bool:
        if self.arguments or not _WORD.match(token) or _is_placeholder(token):
            return False
        # argparse writes its arguments as bare words; who has brackets for them means a bare word as it stands.
        return not self.options or (self.has_placeholders and token.islower())

    def _take_options(self, place: int) -> None:
        token = self.tokens[place]
        following = self.tokens[place + 1] if place + 1 < len(self.tokens) else ""
        found = _options_of(token, following)
        self.options += found
        self.takes_value = bool(found) and not token.startswith("[") and "=" not in token and bool(found[-1].value)

    def _take_group(self, group: str) -> None:
        """Read `(-a | --all | <branch>)`: one of several, none of which has to be there by itself."""
        inner, _, tail = group[1:].rpartition(")")
        if _ASIDE.match(inner):
            return
        parts = [part.strip() for part in _ALTERNATIVES.split(inner)]
        self.options += _options_of(f"[{' | '.join(part for part in parts if part.startswith('-'))}]", "")
        for piece in (piece for part in parts if not part.startswith("-") for piece in part.split()):
            argument = _argument_of(piece + ("..." if "..." in tail else ""))
            if argument is not None:
                self.arguments.append(argument.model_copy(update={"required": argument.required and len(parts) == 1}))

    def _repeat(self) -> None:
        if self.arguments and "..." not in self.arguments[-1].name:
            last = self.arguments[-1]
            self.arguments[-1] = last.model_copy(update={"name": f"{last.name}..."})


def _switches_in(token: str) -> str:
    found = _CLUSTER.fullmatch(token)
    letters = found["letters"] if found else ""
    in_order = list(letters.lower()) == sorted(letters.lower())
    mixed = letters.lower() != letters != letters.upper() and len(set(letters)) == len(letters)
    return letters if in_order or mixed else ""


def _is_option(token: str) -> bool:
    """Say whether a piece is an option, or a group of nothing but options."""
    if token.startswith("("):
        return all(part.strip().startswith("-") for part in _ALTERNATIVES.split(token[1:].rpartition(")")[0]))
    return bool(re.match(r"\[?\(?--?(?:\[no-?\])?[A-Za-z0-9?]", token))


def _is_placeholder(token: str) -> bool:
    """Say whether a bare word stands for something: FILE, PATH_TO, `arg...`."""
    return (token.isupper() and len(token) > 1) or token.endswith("...")


def _options_of(token: str, following: str) -> list[Option]:
    """Return the options of a piece: `[-q | --quiet]` is one, `[--tags | --no-tags]` are two."""
    optional = token.startswith("[")
    inner = token[1 : token.rindex("]")] if optional and "]" in token else token
    inner = inner.replace("(", "").replace(")", "")
    forms = re.split(r"\|\s*(?=-)", inner)
    found = [match for form in forms if (match := _OPTION.match(form.strip()))]
    is_required = not optional and len(_pair(found)) == 1
    return [_option(pair, following if not optional else "", is_required) for pair in _pair(found)]


def _pair(found: list[re.Match[str]]) -> list[list[re.Match[str]]]:
    """Put a short form and the long one next to it together."""
    pairs: list[list[re.Match[str]]] = []
    for match in found:
        last = pairs[-1] if pairs else []
        is_short = len(match["name"]) == 2
        joins = len(last) == 1 and (len(last[0]["name"]) == 2) != is_short and (not is_short or len(found) == 2)
        # `-l label | --all` are two.
        joins = joins and not last[0]["value"].strip()
        if joins:
            last.append(match)
        else:
            pairs.append([match])
    return pairs


def _option(forms: list[re.Match[str]], following: str, required: bool) -> Option:
    longest = max(forms, key=lambda match: len(match["name"]))
    short = next((match["name"] for match in forms if match is not longest), "")
    written = next((match for match in forms if match["value"].strip()), None)
    value = written["value"].strip().rstrip("]").strip() if written else ""
    if not value and re.match(r"<[^<>]*>$|[A-Z][A-Z_]+$", following):
        value = following
    stands_in = _stand_in(value)
    if written and written["open"]:
        stands_in = f"[{stands_in.strip('<>')}]"
    name = _NO.sub("", longest["name"])
    others = (_negate(longest["name"]),) if name != longest["name"] else ()
    values = choices_in(value)
    return Option(name=name, short=short, value=stands_in, values=values, required=required, others=others)


def choices_in(value: str) -> tuple[str, ...]:
    """Return the values that a stand-in lists: `table|json`, `{a,b}`; none when it names only a kind of value."""
    bare = value.strip("<>[](){}=\"' ")
    separator = "|" if "|" in bare else "," if value.startswith("{") else ""
    parts = [part.strip() for part in bare.split(separator)] if separator else []
    if len(parts) < 2 or not all(re.match(r"[\w./+:-]+$", part) for part in parts):
        return ()
    # `<filename|uri>` names kinds of values.
    return () if all(_KIND_OF_VALUE.fullmatch(part) for part in parts) else tuple(parts)


def _stand_in(value: str) -> str:
    return value if not value or value.startswith(("<", "{", '"', "'")) else f"<{value}>" if "|" in value else value


def _argument_of(token: str) -> Option | None:
    optional = token.startswith("[")
    inner = token[1:].replace("]", "", 1).strip() if optional else token
    # clap: `<PACKAGE|--requirements <FILE>>`, where an option may take the place of the argument.
    named, has_options, _ = inner.partition("|-")
    inner = f"{named}>" if has_options and named.startswith("<") else inner
    optional = optional or bool(has_options)
    if not re.search(r"\w", inner):
        return None
    # `{on|off}` says what may stand there, and `on|off` which words do.
    is_choice = ("|" in inner and not inner.startswith("<")) or (
        inner.startswith("{") and "," not in inner and "|" in inner
    )
    name = f"{inner}..." if _SEVERAL.fullmatch(inner) else inner
    return Option(name=name, values=choices_in(inner), required=not optional and not is_choice)


def is_option_row(bare: str) -> bool:
    """Say whether a line begins as the row of an option does."""
    return bool(_ROW.match(bare))


def option_of(term: str, text: str) -> Option | None:
    """Return the option that a row is about; nothing when the row only looks like one."""
    forms = [
        match
        for part in re.split(r",\s+|(?<!\s)\s+/\s+|,(?=-)|\s(?=--?[A-Za-z])|\|(?=-)", term)
        if (match := _FORM.match(part))
    ]
    if not forms:
        return None
    longest = max(forms, key=lambda form: len(form["name"]))
    value = next((form["rest"].strip() for form in reversed(forms) if form["rest"].strip()), "")
    # kubectl shows the default in the place of the value: `--all=false:`.
    shows_default = value.startswith("=") and value.endswith(":")
    default = value[1:-1].strip("'\"") if shows_default else _default_in(text)
    is_switch = default in ("true", "false")
    stand_in = (
        ("[boolean]" if is_switch else "<value>")
        if shows_default
        else value.removeprefix("...").lstrip("= ").rstrip(":").strip()
    )
    # click lists choices in brackets: `--sort [rule|match]`.
    # `-i/--interactive is explicitly specified` is a sentence.
    if (value[:1].isalpha() or value[:1] == "/") and len(value.split()) > LONGEST_VALUE:
        return None
    # GNU's `--follow[={name|descriptor}]` may be left without one.
    optional = (
        None if value.startswith("[") and not value.startswith("[=") and "|" in value else _OPTIONAL.fullmatch(value)
    )
    short = next((form["name"] for form in forms if form is not longest and len(form["name"]) <= 3), "")
    return Option(
        name=_NO.sub("", longest["name"]).rstrip("."),
        short=short,
        value=f"[{'=' * ('|' in optional[1])}{optional[1]}]" if optional else stand_in,
        values=choices_in(stand_in) or _values_in(text),
        description=text,
        required=bool(_REQUIRED.search(text)),
        default=default,
        others=_others([form["name"] for form in forms], longest["name"], short),
    )


def _others(forms: list[str], name: str, short: str) -> tuple[str, ...]:
    """Return the forms besides name and short, and the one that says no."""
    negated = [_negate(form) for form in forms if _NO.search(form)]
    others = [form for form in forms if form not in (name, short) and not _NO.search(form)]
    return tuple(dict.fromkeys([*others, *negated]))


def _negate(form: str) -> str:
    """Return the form of an option that says no: `--no-color` of `--[no-]color`, `-noheader` of `-[no]header`."""
    return _NO.sub(lambda found: found[0].strip("[]"), form)


def _default_in(text: str) -> str:
    found = _DEFAULT.search(text)
    return (found["value"] or found["bare"] or "").strip(" \"'") if found else ""


def _values_in(text: str) -> tuple[str, ...]:
    if bullets := _BULLETS.search(text):
        return tuple(re.findall(r"(?:^|\s)- ([\w.-]+)(?=:|\s+-|\s*$)", bullets["bullets"]))
    found = _VALUES.search(text)
    parts = [part.strip(" \"'") for part in re.split(r"[,|]", found["values"])] if found else []
    return tuple(part for part in parts if re.fullmatch(r"[\w./+-]+", part))

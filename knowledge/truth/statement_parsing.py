"""Statements: a text as short clauses and fields, with the signs by which two of them are compared.

Words without endings, who alone may do something, days, quantities in one unit, and whether it is denied. Nothing here
knows grammar: each sign is a word of a list, and every step takes time in proportion to the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise

from bigmind.text.hygiene import without_accents

from . import statement_words as said
from .statement_words import word_set

__all__ = ["Clause", "Statements", "read_statements", "stem", "word_set"]

MOST_CLAUSES = 40
MOST_WORDS = 60
MOST_CHARS = 10_000
QUOTED_CHARS = 90
KEPT_CHARS = 40
"""Of a word whose stem is kept."""
FIELD_WORDS = 4
"""Most words of a key or a value. More of them are a sentence."""

# A number, a word with what is joined to it, a percent sign, or what ends a clause: no two match the same. A full stop
# after a day of a German month ends none.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*(?:\.(?=\s(?:jan|feb|m[aä]r|apr|mai|jun|jul|aug|sep|okt|nov|dez)))?"
    r"|/?[^\W\d_]\w*(?:[-./@'’]\w+)*|[%€$.,;!?\n]",
    re.IGNORECASE,
)
_PARTICLE = re.compile(r"-((?:off|up|in|on|out|by|down|over)\b)")
"""“Sign-in” and “cut-off” are one word each."""
_ENDS = frozenset(".;!?\n")
_FENCE = "```"
_MARKER = re.compile(r"\A\s*(?:[-*#>]+|\d{1,3}[.)])\s")
_HEADED = re.compile(r"^\W*(?:adr|rfc|decision|entscheidung|d[eé]cision|decisi[oó]n)\b[ #-]?\d*", re.IGNORECASE)
"""What only numbers a decision. In other titles a number tells which thing is meant: “Room 101”."""
_SET_APART = word_set(
    "status date datum fecha author autor auteur stand created updated reviewed id context version autores"
)
"""Fields that belong to a text and not to what it is about."""
_LABELS = word_set(
    "decision entscheidung consequences konsequenzen rule regel note hinweis regle nota context kontext title"
)
_SPLITTING = said.NEGATIONS | said.BUT | word_set("do don't doesn't")
_ENDINGS = {
    **dict.fromkeys(
        ("ements", "ations", "ement", "ation", "ingly", "ities", "ity", "ies", "ied", "ons", "ant", "ent"), 4
    ),
    **dict.fromkeys(("ing", "ed", "es"), 3),
    **dict.fromkeys(("eur", "ers", "ees", "ado", "ada", "ido", "ida", "er", "et", "ee", "ez", "an", "ar"), 4),
    **dict.fromkeys(("en", "em", "ir"), 3),
    "e": 3,
    **dict.fromkeys("soay", 4),
}
"""Endings of words, and how many letters stay at least."""


def stem(word: str) -> str:
    """Return a word without its ending: enough to know “deploys”, “deployed” and “deploying” for one."""
    # Long words rarely recur, and hostile texts could fill the cache with them.
    return _usual_stem(word) if len(word) <= KEPT_CHARS else word


def _stem_of(word: str) -> str:
    word = _SAME.get(word, word)
    if word[-1:] == "s" and word[-2:-1] not in "siu" and len(word) > 3:
        word = word[:-1]
    for ending, least in _ENDINGS.items():
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] in "tni" else word


_SAME = {word: group[0] for group in said.groups_in(said.SAME) for word in group}
_usual_stem = lru_cache(maxsize=10_000)(_stem_of)


@dataclass(frozen=True)
class StatementWord:
    """A word as it is written, in small letters without accents, and without its ending."""

    raw: str
    plain: str
    stem: str
    is_name: bool


@dataclass(frozen=True)
class Clause:
    """One statement, or the value of a key, as in tables and code."""

    words: list[StatementWord]
    key: frozenset[str] = frozenset()
    label: str = ""

    @cached_property
    def plain(self) -> list[str]:
        """Its words in small letters."""
        return [word.plain for word in self.words]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All of its words."""
        return frozenset(self.plain)

    @cached_property
    def content(self) -> dict[str, int]:
        """The words that say what it is about, with the place of each."""
        found: dict[str, int] = {}
        for at, word in enumerate(self.words):
            if at not in self.measured and _is_content(word):
                found.setdefault(word.stem, at)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """Those of its words that are names of somebody or something."""
        return frozenset(stem for stem, at in self.content.items() if self.words[at].is_name)

    @cached_property
    def subject(self) -> frozenset[str]:
        """The words before the first verb, as far as one is known."""
        if self.plain[0] in _NOTHING:
            return frozenset()
        end = next((at for at, word in enumerate(self.words) if at and _ends_subject(word)), 0)
        return frozenset(stem for stem, at in self.content.items() if at < end)

    @cached_property
    def stems(self) -> frozenset[str]:
        """All of its words without their endings."""
        return frozenset(word.stem for word in self.words)

    @property
    def lasting(self) -> set[str]:
        """What of its quantities says how long."""
        return self.quantities.keys() & {"seconds", "date", "o'clock"}

    def starts_with(self, words: set[str]) -> bool:
        """Return whether these words stand where its subject does."""
        first = min(self.content[word] for word in words)
        return not any(_ends_subject(word) for word in self.words[:first])

    @cached_property
    def days(self) -> frozenset[int]:
        """The days of the week that it names, from 0."""
        found: set[int] = set()
        for at, word in enumerate(self.plain):
            found.update(said.SEVERAL_DAYS.get(word, ()))
            if word in said.DAYS:
                found.add(said.DAYS[word])
                last = self.plain[at + 2] if at + 2 < len(self.plain) else ""
                if last in said.DAYS and self.plain[at + 1] in {"to", "through", "bis", "au", "a", "until"}:
                    found.update(range(said.DAYS[word], said.DAYS[last] + 1))
        return frozenset(found)

    @cached_property
    def quantities(self) -> dict[str, frozenset[float]]:
        """Its numbers by what they measure: times in seconds, sizes in KB, all else by the words beside it."""
        return {name: frozenset(values) for name, values in self._measures[0].items()}

    @cached_property
    def before_verb(self) -> frozenset[str]:
        """The words before the first verb, light ones too."""
        verb = next((at for at, word in enumerate(self.words) if at and _ends_subject(word)), 0)
        return frozenset(word.stem for word in self.words[:verb])

    @cached_property
    def labels(self) -> set[tuple[str, float]]:
        """The numbers in its subject that tell which thing is meant: “level 3 has …”."""
        verb = next((at for at, word in enumerate(self.words) if at and _ends_subject(word)), 0)
        named = measure(self.plain[:verb], self.words[:verb])[0] if self.subject else {}
        return {(name, value) for name, values in named.items() if name.startswith("#") for value in values}

    @cached_property
    def amounts(self) -> set[str]:
        """What it measures, without the numbers of versions and the like."""
        return {name for name in self.quantities if not name.startswith("#")}

    @cached_property
    def numbers(self) -> frozenset[float]:
        """All its numbers."""
        return frozenset(chain.from_iterable(self.quantities.values()))

    @property
    def measured(self) -> frozenset[int]:
        """The places of numbers and their units."""
        return self._measures[1]

    @cached_property
    def _measures(self) -> tuple[dict[str, set[float]], frozenset[int]]:
        return measure(self.plain, self.words)

    @cached_property
    def stated(self) -> list[str]:
        """Its words up to a relative clause: “scans that could not be sent” denies nothing of the scans."""
        end = next((at for at, word in enumerate(self.plain) if at > 1 and word in said.RELATIVE), len(self.plain))
        return self.plain[:end]

    @cached_property
    def denials(self) -> int:
        """How often it denies. Two denials are none, except where a language says it twice."""
        number, doubled = 0, False
        for at, word in enumerate(self.stated):
            if word in said.NEGATIONS or word.endswith(("n't", "n’t")) or (word == "plus" and self.has(_NE)):
                longer = self.plain[at + 1] if at + 1 < len(self.plain) else ""
                # “No longer than a day” and “may not exceed a day” bound something, and deny nothing.
                is_bound = longer.endswith(("er", "ore", "ess")) and self.plain[at + 2 : at + 3] == ["than"]
                if is_bound or longer == "exceed":
                    continue
                if not (doubled and word in said.DOUBLED):
                    number += 1
                doubled = word in said.DOUBLED or word == "no" or doubled
            elif word in said.AVOIDING or word in said.FORBIDDING:
                number += 1
        return number

    def has(self, signs: frozenset[str]) -> bool:
        """Return whether it has one of these words."""
        return not signs.isdisjoint(self.vocabulary)

    @property
    def excerpt(self) -> str:
        """Its words, cut after `QUOTED_CHARS`, to be put into quotation marks: it holds none."""
        text = (self.label + " ".join(word.raw for word in self.words)).replace("“", "‘").replace("”", "’")
        return text if len(text) <= QUOTED_CHARS else text[: QUOTED_CHARS - 1] + "…"


_NOTHING = word_set("nothing nobody nichts niemand rien nada nadie")
_NE = frozenset({"ne", "n"})
_DETERMINERS = word_set("the a our das der die le la el our unser")
_OPEN = word_set("open geoffnet ouvert ouverte abierto abierta")
_HAVING_TO = frozenset({("have", "to"), ("has", "to"), ("tiene", "que"), ("tienen", "que"), ("hay", "que")})


@dataclass(frozen=True)
class Statements:
    """A text: the words of its title, its sentences and the fields of its tables, lists and code."""

    title: Clause
    clauses: list[Clause]
    fields: list[Clause]
    has_title: bool


def read_statements(text: str) -> Statements:
    """Return what a text states. Its first line counts as a title when others follow."""
    first, _, rest = text[:MOST_CHARS].strip().partition("\n")
    # A title that was made of the first words of the text names nothing.
    if rest.strip().startswith(first.rstrip(" .…!")):
        first, _, rest = rest.strip().partition("\n")
        rest = "" if not rest.strip() else f"{first}\n{rest}"
    title = _words_of(_HEADED.sub(" ", first) if rest.strip() else "")
    clauses: list[Clause] = []
    fields: list[Clause] = []
    # A title that says something by itself is a statement, too: “Never deploy on Fridays”.
    lines = [first, *rest.splitlines()] if not rest.strip() or _states(_words_of(first)) else rest.splitlines()
    is_code = False
    for line in lines:
        if line.lstrip().startswith(_FENCE):
            is_code = not is_code
            continue
        parts = [] if not rest.strip() else list(_fields_of(line, is_code=is_code))
        fields += parts
        if not parts and not is_code:
            clauses += _clauses_of(line)
        if len(clauses) + len(fields) >= MOST_CLAUSES:
            break
    return Statements(Clause(title), clauses[:MOST_CLAUSES], fields[:MOST_CLAUSES], bool(rest.strip()))


def _states(words: list[StatementWord]) -> bool:
    plain = {word.plain for word in words}
    signs = said.NEGATIONS | said.OBLIGING | said.PERMITTING | said.FORBIDDING | said.ALONE | said.USING | said.FREE
    return not plain.isdisjoint(signs)


def _fields_of(line: str, *, is_code: bool) -> Iterator[Clause]:
    """Yield the keys of a line with their values: “| Port | 8080 |”, “Port: 8080”, “Atlas(timeout=30)”."""
    if line.lstrip().startswith("|"):
        key, *values = [cell.strip() for cell in line.strip().strip("|").split("|")]
        pairs = [(key, value) for value in values[:1] if len(values) == 1]
        pairs += [(f"{key} {number}", value) for number, value in enumerate(values) if len(values) > 1]
    elif is_code:
        pairs = [(one[-1:][0], other) for one, other in _assignments(line)]
    else:
        key, colon, value = _MARKER.sub("", line, count=1).partition(": ")
        pairs = [(key.strip("*_ "), value)] if colon else []
    for key, value in pairs:
        # A sentence after “Decision:” is compared as one.
        words, named = _words_of(value), frozenset(word.stem for word in _words_of(key))
        if named and words and len(words) <= FIELD_WORDS and len(named) <= FIELD_WORDS and named.isdisjoint(_APART):
            yield Clause(words, named, label=" ".join(key.split()) + ": ")


_APART = frozenset(map(stem, _SET_APART))


def _assignments(line: str) -> Iterator[tuple[list[str], str]]:
    parts = line.replace(":", "=").split("=")
    for before, after in pairwise(parts):
        key, value = (
            before.replace("(", " ").replace(",", " ").split(),
            after.replace(")", " ").replace(",", " ").split(),
        )
        if key and value:
            yield key, value[0]


def _clauses_of(text: str) -> Iterator[Clause]:
    key, colon, value = _MARKER.sub("", text, count=1).partition(": ")
    text = value if value and without_accents(key.strip("*_ ")) in _LABELS else f"{key}{colon}{value}"
    words: list[StatementWord] = []
    parts = [match[0] for match in _TOKEN.finditer(text)]
    for part, following in pairwise(chain(parts, ["\n", ""])):
        # “In unit tests, do not mock”: what comes before the comma is no statement of its own.
        splits = part == "," and without_accents(following) in _SPLITTING
        if part not in _ENDS and not (splits and words and words[0].plain not in said.INSIDE):
            if part not in {",", "$", "€"} and len(words) < MOST_WORDS:
                words += _read(part, is_first=not words)
        elif words:
            yield Clause(_join_words(words))
            words = []


def _words_of(text: str) -> list[StatementWord]:
    found: list[StatementWord] = []
    for match in _TOKEN.finditer(text):
        if match[0][0].isalnum() or match[0] in {"%"} or match[0].startswith("/"):
            found += _read(match[0], is_first=not found)
        if len(found) >= MOST_WORDS:
            break
    return _join_words(found)


def _read(part: str, *, is_first: bool) -> Iterator[StatementWord]:
    """Yield the words of a token: what is joined by hyphens is several, unless it is a name."""
    is_code = any(char in "/.@" for char in part) and not part[0].isdigit()
    is_code = is_code or (not part[0].isdigit() and any(char.isdigit() for char in part))
    pieces = (
        [part] if is_code else _PARTICLE.sub(r"\1", part.replace("’", "'")).replace("-", " ").replace("'", " '").split()
    )
    for number, (piece, following) in enumerate(pairwise([*pieces, ""])):
        if following == "'t" and piece not in said.PERMITTING:
            if piece[:-1] in said.OBLIGING:
                yield _word(piece[:-1], is_first=False, is_code=False)
            continue
        if piece.startswith("'") and number:
            # “don't” denies, “team's” is of the team, “d'avis” are two words.
            if piece in {"'t"}:
                yield StatementWord("not", "not", "not", is_name=False)
            elif len(piece) > 3:
                yield _word(piece[1:], is_first=False, is_code=False)
            continue
        for part in _parts_of(piece):
            yield _word(part, is_first=is_first and not number, is_code=is_code)


def _parts_of(word: str) -> list[str]:
    """Return the two known words of a compound: “Kundendaten” are data of customers."""
    plain = without_accents(word)
    if 7 < len(plain) <= KEPT_CHARS:
        for end in range(4, len(plain) - 3):
            first, last = plain[:end].removesuffix("s"), plain[end:]
            if last in _SAME and (first in _SAME or plain[:end] in _SAME):
                return [first if first in _SAME else plain[:end], last]
    return [word]


def _word(raw: str, *, is_first: bool, is_code: bool) -> StatementWord:
    # “À” is “at”, and “a” an article or “has”. “APIs” are several of what “API” names.
    plain = "at" if raw in {"à", "À"} else without_accents(raw).rstrip(".") or raw
    if raw.endswith("s") and raw[:-1].isupper() and len(raw) > 2:
        plain = plain[:-1]
    is_shaped = raw[1:] != raw[1:].lower() or is_code
    is_name = raw[:1] == "/" or (raw[:1].isalpha() and (is_shaped or (raw[:1].isupper() and not is_first)))
    return StatementWord(raw, plain, stem(plain), is_name)


def _two_words(word: str, following: str) -> str:
    """Return what two words say together: “have to” is “needs”, and what is open until six closes then."""
    if (word, following) in _HAVING_TO:
        return "needs"  # “Does not have to” leaves it open, “must not” forbids it.
    if (word, following) in {("leave", "out"), ("leaves", "out"), ("left", "out"), ("opt", "out")}:
        return "skip"
    if word == "no" and following in {"cost", "charge"}:
        return "free"
    return "closes" if word in _OPEN and following in said.UNTIL else ""


def _join_words(words: list[StatementWord]) -> list[StatementWord]:
    """Return the words, “have to” as “needs”; in German, where every noun has a capital, one makes no name."""
    words = [
        StatementWord(word.raw, known, stem(known), is_name=False)
        if (known := _two_words(word.plain, following.plain))
        else word
        for word, following in pairwise([*words, StatementWord("", "", "", is_name=False)])
    ]
    if not any(word.plain in said.GERMAN for word in words):
        return words
    return [
        StatementWord(word.raw, word.plain, word.stem, is_name=word.is_name and word.raw[1:] != word.raw[1:].lower())
        for word in words
    ]


_MEASURES = frozenset(said.DAYS) | frozenset(said.SEVERAL_DAYS) | frozenset(said.MONTHS) | frozenset(said.UNIT_SECONDS)
_VERBS = (
    said.HOLDING
    | said.OBLIGING
    | said.PERMITTING
    | said.USING
    | said.MANY
    | said.FORBIDDING
    | word_set(
        "is are am was were has have had be not never keep keeps kept expire expires take takes run runs live "
        "lives last lasts start starts stop stops close closes open opens end ends give gives send sends drop "
        "drops discard discards meet meets ist sind wird werden hat haben offnet schliesst findet dauert "
        "lauft liegt liegen est sont a ont ouvre ferme es son esta estan abre cierra se ne no nicht nie "
        "niemals says lets means allows limits approves approved reports needs"
    )
)
_VERB_STEMS = frozenset(map(stem, said.HOLDING | said.MANY))


def _is_content(word: StatementWord) -> bool:
    plain = word.plain
    if not (plain[0].isalpha() or plain[0] == "/") or plain in said.NUMERALS or plain in _MEASURES:
        return False
    return word.is_name or word.stem == "user" or (plain not in said.STRUCTURE and len(plain) > 1)


def _ends_subject(word: StatementWord) -> bool:
    return not word.is_name and (word.plain in _VERBS or word.stem in _VERB_STEMS)


def measure(words: list[str], raw: list[StatementWord]) -> tuple[dict[str, set[float]], frozenset[int]]:
    """Return the quantities of a clause by what they measure, and the places of numbers and units."""
    found: dict[str, set[float]] = {}
    used: set[int] = set()
    at = 0
    while at < len(words):
        name, value, length = _quantity(words, raw, at)
        if length:
            found.setdefault(name, set()).add(round(value, 4))
            used.update(range(at, at + length))
        at += max(1, length)
    return found, frozenset(used)


def _quantity(words: list[str], raw: list[StatementWord], at: int) -> tuple[str, float, int]:
    """Return what a number measures, its value, and how many words say it; no words where none stands here."""
    word = words[at]
    after = words[at + 1 : at + 5] + [""] * 4
    before = words[at - 1] if at else ""
    if word in said.PERIODS and before and before not in _DETERMINERS:
        return "every", said.PERIODS[word], 1
    if word in said.EVERY:
        if after[0] in said.DAYS:
            return "every", 7 * 86400.0, 1
        skip = int(after[0] in {"les", "los", "las"})
        number, skip = (_number(after[skip]), skip + 1) if _number(after[skip]) is not None else (1.0, skip)
        if after[skip] in said.UNIT_SECONDS:
            return "every", (number or 1.0) * said.UNIT_SECONDS[after[skip]], skip + 2
        return "", 0.0, 0
    if word in {"next", "following"} and after[0] == "day":
        return "seconds", 86400.0, 2
    number = _number(word)
    if number is not None and after[0] in {"working", "business"} and after[1] in said.UNIT_SECONDS:
        return "seconds", number * said.UNIT_SECONDS[after[1]], 3
    if word in said.MONTHS and before in said.INSIDE | said.UNTIL | said.FROM and _number(after[0]) is None:
        return "date", said.MONTHS[word] * 100.0, 1
    if number is None:
        is_one = (before in said.LASTING and after[0] in said.UNIT_SECONDS) or after[0] in said.TIMES
        # “Un mois” is one month; “a day” may be any.
        is_one = is_one or (word not in {"a", "an"} and after[0] in said.UNIT_SECONDS)
        if word not in said.ARTICLES_ONE or not (is_one or not said.ENOUGH.isdisjoint(words)):
            return "", 0.0, 0
        number = 1.0
    if number == 0.5 and after[0] in said.ARTICLES_ONE and after[1] in said.UNIT_SECONDS:
        return "seconds", number * said.UNIT_SECONDS[after[1]], 3
    skip = 1 if after[0] in said.TIMES else 0
    is_often = skip or word in {"once", "twice", "einmal", "zweimal", "dreimal", "thrice"}
    if is_often and after[skip] in said.PER and after[skip + 1] in said.UNIT_SECONDS and number:
        return "every", said.UNIT_SECONDS[after[skip + 1]] / number, skip + 3
    if skip or is_often:
        return "times", number, 1 + skip
    if after[0] in said.MONTHS or before in said.MONTHS:
        return _date(words, at, number, after, before)
    if after[0] in {"de", "des"} and after[1] in said.MONTHS:
        return "date", said.MONTHS[after[1]] * 100 + number, 3
    if (
        ":" in word
        or after[0] in {"am", "pm", "uhr", "o'clock"}
        or (after[0] == "h" and before in {"at", "des", "jusqu"})
    ):
        return _clock(word, after)
    if (
        1900 <= number <= 2100
        and number.is_integer()
        and len(word) == 4
        and before in said.INSIDE | said.UNTIL | said.FROM
    ):
        return "date", number * 10_000, 1
    if after[0] in said.UNIT_SECONDS:
        return "seconds", number * said.UNIT_SECONDS[after[0]], 2
    if after[0] in said.UNIT_BYTES:
        return "bytes", number * said.UNIT_BYTES[after[0]], 2
    if after[0] in {"%", "percent", "prozent"}:
        return "%", number, 2
    if before in {"las", "at"} and after[0] == "" and number < 25:
        return "o'clock", number * 60, 1
    if after[0] and after[0][0].isalpha() and after[0] not in said.STRUCTURE:
        return stem(after[0]), number, 1
    return f"#{stem(before)}" if before and before not in said.STRUCTURE else "#", number, 1


def _date(words: list[str], at: int, number: float, after: list[str], before: str) -> tuple[str, float, int]:
    is_after = after[0] in said.MONTHS
    month = said.MONTHS[after[0] if is_after else before]
    is_year = number > 1000
    year = after[1] if is_after else after[0]
    known = float(year) if year.isdecimal() and len(year) == 4 else 0.0
    value = number * 10_000 + month * 100 if is_year else known * 10_000 + month * 100 + number
    return "date", value, 1 + is_after + (known > 0)


def _clock(word: str, after: list[str]) -> tuple[str, float, int]:
    """Return a time of day in minutes as 24-hour clocks show it; what is none, such as a ratio, as a number."""
    hour, _, minutes = word.replace(".", ":").partition(":")
    minutes = minutes[:2] if minutes[:2].isdecimal() else "0"
    length = 1 + (after[0] in {"am", "pm", "uhr", "o'clock", "h"})
    if after[0] == "h" and after[1].isdecimal() and len(after[1]) == 2:
        minutes, length = after[1], 3
    value = int(hour[:4]) % 12 + 12 * (after[0] == "pm") if after[0] in {"am", "pm"} else int(hour[:4])
    return "o'clock", value * 60.0 + int(minutes), length


def _number(word: str) -> float | None:
    """Return what a word is worth as a number; thousands may be parted."""
    if word in said.NUMERALS:
        return float(said.NUMERALS[word])
    if not word[:1].isdigit() or len(word) > 15:
        return None
    plain = word.replace(":", ".")
    head, _, last = plain.replace(",", ".").rpartition(".")
    if head and len(last) == 3 and head.replace(".", "").isdecimal():
        plain = f"{head.replace('.', '')}{last}"
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        # Versions such as 1.5.7: what differs is compared, and nothing is counted with it.
        return sum(int(piece) * 0.001**number for number, piece in enumerate(plain.split(".")) if piece.isdecimal())

"""Contradictions: what two texts about the same thing may disagree on. A hint for a person, never a verdict.

No model decides here. Both texts are split into clauses. Two clauses about the same thing are compared for the few
signs by which rules usually differ: who alone may do it, whether it is denied, how binding it is, a number, a weekday,
an opposite (“before”, “after”), or another thing to use. Clauses of which each says something that the other does not
(“on staging”, “in production”) are about different things. Every step takes time in proportion to the text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise, product

MOST_CLAUSES = 40
MOST_WORDS = 60
MOST_HINTS = 5
QUOTED_CHARS = 90

# A number, a word with what follows its apostrophe, a percent sign, or what ends a clause: no two match the same.
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?|[%.,;!?\n]")
_ENDS = frozenset(".;!?\n")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_NEGATIONS = _words(
    "not no never none nothing nobody without cannot nor neither avoid disable disabled deny denied disallow "
    "disallowed forbid forbidden forbids prohibit prohibited ban banned nicht kein keine keinen nie ohne verboten"
)
_OBLIGING = _words("must required require requires mandatory shall always has have needed needs need")
_LEAVING_FREE = _words("may optional can could optionally")
_PERMITTING = _words("may can could must should shall allowed permitted granted fine")
_EVERYONE = _words("everyone everybody anyone anybody all any every each")
_ALONE = _words("only exclusively solely")
_BUT = _words("but except")
_SPLITS_AFTER_COMMA = _NEGATIONS | _BUT | _words("do don't doesn't")
_CHOOSING = _words("use uses using prefer prefers")

_LIGHT = _words(
    "a an the of in on at by for from with and or is are be been being was were it its that this these those we you "
    "they them our your their as into onto than then so also both there will would where when while if who which to do "
    "does did out up least most about after before stay stays keep happen happens go goes themselves himself itself "
    "such own other others allow allows allowed permit permits permitted accept enable enabled fine ok okay should"
)
_STRUCTURE = _LIGHT | _NEGATIONS | _OBLIGING | _LEAVING_FREE | _PERMITTING | _EVERYONE | _ALONE | _BUT | _CHOOSING

_OPPOSITES = (
    frozenset({"before", "after"}),
    frozenset({"sync", "async"}),
    frozenset({"synchronous", "asynchronous"}),
    frozenset({"public", "private"}),
    frozenset({"tabs", "spaces"}),
    frozenset({"merge", "rebase"}),
    frozenset({"mutable", "immutable"}),
    frozenset({"include", "exclude"}),
    frozenset({"on", "off"}),
    frozenset({"true", "false"}),
    frozenset({"minimum", "maximum"}),
    frozenset({"manually", "automatically"}),
)
_NUMERALS = {"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_NUMERALS |= {"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}
_SECONDS = {
    "second": 1,
    "sec": 1,
    "s": 1,
    "minute": 60,
    "min": 60,
    "hour": 3600,
    "h": 3600,
    "day": 86400,
    "week": 604800,
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEVERAL_DAYS = {"weekday": _DAYS[:5], "workday": _DAYS[:5], "weekend": _DAYS[5:]}
_UNTIL = frozenset({"to", "until", "through"})


@dataclass(frozen=True)
class _Clause:
    """One statement: its words, its subject without the sole holder of a right, that holder, and the signs in it."""

    words: list[str]
    vocabulary: frozenset[str]
    about: frozenset[str]
    holder: frozenset[str]
    days: frozenset[str]
    numbers: dict[str, str]
    is_denied: bool
    """Whether it says that something is not so. Two negations are none."""

    def has(self, signs: frozenset[str]) -> bool:
        return not signs.isdisjoint(self.vocabulary)

    @property
    def is_statement(self) -> bool:
        """Whether it states something by itself: a heading only names what the text is about."""
        return self.is_denied or bool(self.holder) or self.has(_OBLIGING | _PERMITTING | _CHOOSING)

    @property
    def quoted(self) -> str:
        text = " ".join(self.words)
        return f"“{text if len(text) <= QUOTED_CHARS else text[: QUOTED_CHARS - 1] + '…'}”"


def contradictions(new: str, known: str) -> list[str]:
    """Return hints on what two texts may disagree, the clearest first; an empty list if there are none."""
    pairs = list(product(_clauses(new), _clauses(known)))
    found = (hint for sign in _SIGNS for here, there in pairs for hint in sign(here, there))
    return list(dict.fromkeys(found))[:MOST_HINTS]


def _holders(here: _Clause, there: _Clause) -> Iterator[str]:
    """Only X may do it, and others may, or nobody."""
    if _is_shared(here, there) or _is_shared(there, here):
        yield _both(here, there)


def _is_shared(only: _Clause, other: _Clause) -> bool:
    """Whether one lets others, or nobody at all, do what the first leaves to its holder alone."""
    if other.is_denied:
        same = bool(other.about) and other.about == only.about and _days_meet(only, other)
        return same and bool(only.holder) and not other.holder
    named = (other.about | other.holder) - only.about
    is_for_all = other.has(_EVERYONE)
    return (
        bool(only.holder and only.about)
        and only.about <= other.about | other.holder
        and (is_for_all or bool(other.holder) or other.has(_PERMITTING))
        and (is_for_all or bool(named))
        and not only.holder <= named
        and _days_meet(only, other)
    )


def _denials(here: _Clause, there: _Clause) -> Iterator[str]:
    """The same, once denied and once not."""
    if here.holder or there.holder or not _days_meet(here, there):
        return
    about, other = _without_prefixes(here, there)
    shared = len(about & other) + bool(here.days & there.days)
    flipped = (here.about != about) ^ (there.about != other)
    if shared >= 2 and _is_same(about, other) and (here.is_denied ^ there.is_denied ^ flipped):
        yield _both(here, there)


def _bindings(here: _Clause, there: _Clause) -> Iterator[str]:
    """Required here, left free there."""
    if here.holder or there.holder or here.is_denied or there.is_denied or len(here.about & there.about) < 2:
        return
    binds = [(one.has(_OBLIGING), one.has(_LEAVING_FREE)) for one in (here, there)]
    if sorted(binds) == [(False, True), (True, False)] and _is_same(here.about, there.about):
        yield _both(here, there)


def _numbers(here: _Clause, there: _Clause) -> Iterator[str]:
    """The same word or unit with another number."""
    if not _is_same(here.about, there.about) or here.is_denied != there.is_denied:
        return
    for name in here.numbers.keys() & there.numbers.keys():
        one, other = here.numbers[name], there.numbers[name]
        if one != other:
            yield f"“{name}”: {one} here, {other} there" if name != "seconds" else _both(here, there)


def _weekdays(here: _Clause, there: _Clause) -> Iterator[str]:
    """The same on another day of the week."""
    is_plain = not (here.is_denied or there.is_denied or here.holder or there.holder)
    if (
        here.days
        and there.days
        and not _days_meet(here, there)
        and is_plain
        and here.about
        and here.about == there.about
    ):
        yield _both(here, there)


def _opposites(here: _Clause, there: _Clause) -> Iterator[str]:
    """One of two words that exclude each other here, the other there."""
    for pair in _OPPOSITES if here.is_denied == there.is_denied else ():
        one, other = pair & here.vocabulary, pair & there.vocabulary
        stems = frozenset(map(_stem, pair))
        if len(one) == len(other) == 1 and one != other and _is_same(here.about - stems, there.about - stems):
            yield f"“{min(one)}” here, “{min(other)}” there"


def _choices(here: _Clause, there: _Clause) -> Iterator[str]:
    """Use this for it, use that for it."""
    chooses = here.has(_CHOOSING) and there.has(_CHOOSING) and here.is_denied == there.is_denied
    only_here, only_there = here.about - there.about, there.about - here.about
    if chooses and len(only_here) == len(only_there) == 1 and len(here.about & there.about) >= 2:
        yield _both(here, there)


_SIGNS: tuple[Callable[[_Clause, _Clause], Iterator[str]], ...] = (
    _holders,
    _denials,
    _bindings,
    _numbers,
    _weekdays,
    _opposites,
    _choices,
)


def _both(here: _Clause, there: _Clause) -> str:
    return f"{here.quoted} here, {there.quoted} there"


def _is_same(about: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two clauses are about the same: what the shorter one is about, the longer one is, too."""
    return bool(about and other) and (about <= other or other <= about)


def _days_meet(one: _Clause, other: _Clause) -> bool:
    return not (one.days and other.days) or bool(one.days & other.days)


def _without_prefixes(here: _Clause, there: _Clause) -> tuple[frozenset[str], frozenset[str]]:
    """What both are about, where one says “unencrypted” and the other “encrypted”."""

    def fold(about: frozenset[str], other: frozenset[str]) -> frozenset[str]:
        return frozenset(word[2:] if word.startswith("un") and word[2:] in other else word for word in about)

    return fold(here.about, there.about), fold(there.about, here.about)


def _clauses(text: str) -> list[_Clause]:
    """The statements of a text. Of its first line, when others follow, only what states something: it is a title."""
    title, _, rest = text.strip().partition("\n")
    heading = [clause for clause in _clauses_of(title) if clause.is_statement or not rest]
    return [*heading, *_clauses_of(rest)][:MOST_CLAUSES]


def _clauses_of(text: str) -> list[_Clause]:
    words: list[str] = []
    found: list[_Clause] = []
    parts = (match[0].casefold().replace("’", "'") for match in _TOKEN.finditer(text))
    for part, following in pairwise(chain(parts, ["\n", ""])):
        if part not in _ENDS and not (part == "," and following in _SPLITS_AFTER_COMMA):
            words += [part] if part != "," and len(words) < MOST_WORDS else []
        elif words:
            found.append(_read(words))
            words = []
        if len(found) == MOST_CLAUSES:
            break
    return found


def _read(words: list[str]) -> _Clause:
    holder, rest = _who_alone(words)
    return _Clause(
        words=words,
        vocabulary=frozenset(words),
        about=_content(rest),
        holder=_content(holder),
        days=_days_in(words),
        numbers=_numbers_in(words),
        is_denied=sum(word in _NEGATIONS or word.endswith("n't") for word in words) % 2 == 1,
    )


def _content(words: list[str]) -> frozenset[str]:
    """The words that say what it is about, without their endings; numbers and days are compared by themselves."""
    topical = (word for word in words if word not in _STRUCTURE and not word.endswith("n't") and word not in _NUMERALS)
    return frozenset(_stem(word) for word in topical if word[0].isalpha()) - _MEASURES


def _who_alone(words: list[str]) -> tuple[list[str], list[str]]:
    """Who alone is meant by “only”, and the rest: “only ops may deploy”, “deployed only by ops”, “nobody but ops”."""
    for place, word in enumerate(words):
        is_exception = word in _BUT and place and words[place - 1] in {"nobody", "one", "none"}
        if word in _ALONE or is_exception:
            before, after = words[: place - is_exception], words[place + 1 :]
            if _content(before):
                return (after, before) if after and after[0] in {"by", "to", "for"} else ([], words)
            end = next((at for at, following in enumerate(after) if following in _PERMITTING | {"is", "are"}), 1)
            return after[:end], after[end:]
    return [], words


def _days_in(words: list[str]) -> frozenset[str]:
    days: set[str] = set()
    named = [word.removesuffix("s") for word in words]
    for place, word in enumerate(named):
        days.update(_SEVERAL_DAYS.get(word, (word,) if word in _DAYS else ()))
        last = named[place + 2] if place + 2 < len(named) else ""
        if word in _DAYS and last in _DAYS and words[place + 1] in _UNTIL:
            days.update(_DAYS[_DAYS.index(word) : _DAYS.index(last) + 1])
    return frozenset(days)


def _numbers_in(words: list[str]) -> dict[str, str]:
    """Each number by the word after it, or before it where it ends the clause; times in seconds."""
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        number = _NUMERALS.get(word, word)
        if not number[0].isdigit():
            continue
        after = words[place + 1] if place + 1 < len(words) else ""
        before = words[place - 1] if place else ""
        unit = after.removesuffix("s")
        if unit in _SECONDS and number.isdecimal() and len(number) < 10:
            found["seconds"] = str(int(number) * _SECONDS[unit])
        elif after and after not in _LIGHT:
            found[after.removesuffix("s")] = number
        elif before:
            found[before] = number
    return found


def _stem(word: str) -> str:
    """A word without its English ending: enough to know “deploys”, “deployed” and “deploying” for one."""
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious":
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") else word.removesuffix("e")


_MEASURES = frozenset(map(_stem, (*_SECONDS, *_DAYS, *_SEVERAL_DAYS)))

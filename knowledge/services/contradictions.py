"""Contradictions: what two texts about the same thing may disagree on. A hint for a user, never a verdict.

No model decides here. Both texts are split into clauses. Two clauses about the same thing are compared for the signs by
which statements usually differ: who alone may do it, whether it is denied, an exception, how binding it is, a number, a
day, an opposite (“before”, “after”), or another value in the same place (“is kept in Dublin”). Clauses of which each
says something that the other does not (“on staging”, “in production”) are about different things. Every step takes time
in proportion to the text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise, product
from typing import NamedTuple

from knowledge.services.opposites import ALTERNATIVES, OPPOSITES, groups_in

MOST_CLAUSES = 40
MOST_WORDS = 60
MOST_HINTS = 5
MOST_VALUE_WORDS = 3
"""Most words of a value. Texts that differ in more words are different statements."""
ALIKE = 0.75
"""The share of the shorter clause's words that the other needs, where both may say something of their own."""
QUOTED_CHARS = 90
KEPT_CHARS = 40
"""Of a word whose stem is kept."""

# A number, a word with what follows its apostrophe, a percent sign, or what ends a clause: no two match the same.
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_][^\W_]*(?:['’][^\W\d_]+)?|[%.,;!?\n]")
_ENDS = frozenset(".;!?\n")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_NEGATIONS = _words(
    "not no never none nothing nobody without cannot nor neither avoid deny denied disallow disallowed forbid "
    "forbidden forbids prohibit prohibited ban banned stopped ceased longer nicht kein keine keinen nie ohne verboten"
)
_OBLIGING = _words("must required require requires mandatory shall always has have needed needs need")
_LEAVING_FREE = _words("may optional optionally can could recommended")
_PERMITTING = _words("may can could must should shall allowed permitted granted fine")
_EVERYONE = _words("everyone everybody anyone anybody everywhere all any every each")
_ALWAYS = _EVERYONE | _words("always never no nobody none nothing")
_ALONE = _words("only exclusively solely just reserved restricted")
_BUT = _words("but except")
_UNLESS = _words("except unless excluding besides") | _BUT
_ALSO = _words("also too additionally besides well another")
_ADDING = _words("and or plus")
_NOW = _words("now moved switched migrated changed became renamed replaced nowadays")
_SPLITS_AFTER_COMMA = _NEGATIONS | _words("but do don't doesn't")
_CHOOSING = _words("use uses using prefer prefers")

_LIGHT = _words(
    "a an the of in on at by for from with and or is are be been being was were it its that this these those we "
    "they them our your their as into onto than then so also both there will would where when while if who which to do "
    "does did out up down off least most about after before stay stays keep kept keeps happen happens themselves "
    "himself itself such own other others allow allows allowed permit permits permitted accept enable enabled fine ok "
    "okay should am get gets too well still already now too just anymore any more"
)
_STRUCTURE = _LIGHT | _NEGATIONS | _OBLIGING | _LEAVING_FREE | _PERMITTING | _EVERYONE | _ALONE | _BUT | _CHOOSING
_STRUCTURE = _STRUCTURE | _UNLESS
_BEING = _words("is are was were be am")
_JOINING = _words("a an the of and")
_ARTICLES = _words("a an the its our")
_PLACES_AT = _words("in at on by with from for as under into")
_PLACING = _words("in at on by with from to for as under into of")

_SAME_WORD = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself", "users"), "user"),
    "called": "name",
    "named": "name",
    "postgres": "postgresql",
    "k8s": "kubernetes",
    "kept": "keep",
    "left": "leave",
    "sent": "send",
    "ran": "run",
    "chose": "choose",
    "chosen": "choose",
    "wrote": "write",
    "written": "write",
    "began": "begin",
    "held": "hold",
    "met": "meet",
    "paid": "pay",
    "led": "lead",
    "drawn": "draw",
    "built": "build",
    "done": "finished",
    "lives": "live",
    "favorite": "favourite",
    "color": "colour",
    "license": "licence",
}
_ENDINGS = _words("ment ion ation atur ature er or ing al ly ance ence ity ness")

_NUMERALS = {"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_NUMERALS |= {"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "once": "1", "twice": "2"}
_SECONDS = {
    **dict.fromkeys(("second", "sec", "s"), 1),
    **dict.fromkeys(("minute", "min"), 60),
    **dict.fromkeys(("hour", "h"), 3600),
    "day": 86400,
    "week": 7 * 86400,
    "month": 30 * 86400,
    "year": 365 * 86400,
}
_BYTES = {"kb": 1, "kib": 1, "mb": 10**3, "mib": 10**3, "gb": 10**6, "gib": 10**6, "tb": 10**9, "tib": 10**9}
_LASTING = _words("last lasts lasted take takes within for after")
_MONTHS = _words("january february march april june july august september october november december")
_ORDINAL = _words("st nd rd th")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEVERAL_DAYS = {"weekday": _DAYS[:5], "workday": _DAYS[:5], "weekend": _DAYS[5:]}
_UNTIL = frozenset({"to", "until", "through"})
_MEASURED = frozenset({"seconds", "bytes", "o'clock", "%"})


def _stem(word: str) -> str:
    """Return a word without its English ending: enough to know “deploys”, “deployed” and “deploying” for one."""
    # Long words rarely recur, and hostile texts could fill the cache with them.
    return _usual_stem(word) if len(word) <= KEPT_CHARS else _stem_of(word)


def _stem_of(word: str) -> str:
    word = word.removesuffix("'s")
    word = _SAME_WORD.get(word, word)
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious":
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") else word.removesuffix("e")


_usual_stem = lru_cache(maxsize=10_000)(_stem_of)


def _stems(listed: str) -> frozenset[str]:
    return frozenset(map(_stem, listed.split()))


_MEASURES = frozenset(map(_stem, (*_SECONDS, *_BYTES, *_DAYS, *_SEVERAL_DAYS)))
_HOLDING = _stems(
    "live move locate host store choose name run draw deploy indent sort base place keep default "
    "start begin end pin own lead manage maintain ask use prefer want reside schedule belong set count"
)
"""Verbs after which one value holds at a time: one lives in one place. One speaks several languages."""
_HOLDING_PLACED = _stems("answer write work speak format reply send version publish deliver sign bill")
"""The same, where “in”, “with”, “at” or the like stands before the value: one answers in one language."""
_OWNING = _stems("own lead manage maintain head chair run")
"""Verbs before which one name stands at a time."""
_EXCLUDED: dict[str, set[str]] = {}
for _first, *_others in ([_stem(word) for word in group] for group in groups_in(OPPOSITES)):
    for _other in _others:
        _EXCLUDED.setdefault(_first, set()).add(_other)
        _EXCLUDED.setdefault(_other, set()).add(_first)
_GROUP_OF = {_stem(word): number for number, group in enumerate(groups_in(ALTERNATIVES)) for word in group}


@dataclass(frozen=True)
class _Clause:
    """One statement: its words, its subject without the sole holder of a right, that holder, and the signs in it."""

    words: list[str]
    about: frozenset[str]
    holder: frozenset[str]
    days: frozenset[str]
    numbers: dict[str, frozenset[str]]
    is_denied: bool
    """Whether it says that something is not so. Two negations are none."""

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All of its words."""
        return frozenset(self.words)

    @cached_property
    def stems(self) -> list[str]:
        """All of its words without their endings, in their order."""
        return [_stem(word) for word in self.words]

    @cached_property
    def content(self) -> list[int]:
        """The places of the words that say what it is about."""
        return [place for place, word in enumerate(self.words) if _is_content(word)]

    @cached_property
    def values(self) -> frozenset[str]:
        """All its numbers."""
        return frozenset(chain.from_iterable(self.numbers.values()))

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


class _Compared(NamedTuple):
    """What two clauses are about, as far as the same words were found for it, and how many opposites are in them."""

    about: frozenset[str]
    other: frozenset[str]
    opposites: list[tuple[str, str]]

    @property
    def shared(self) -> frozenset[str]:
        return self.about & self.other

    @property
    def is_same(self) -> bool:
        """Whether what the shorter one is about, the longer one is, too."""
        return bool(self.about and self.other) and (self.about <= self.other or self.other <= self.about)

    @property
    def is_alike(self) -> bool:
        return self.is_same or len(self.shared) >= max(3, ALIKE * min(len(self.about), len(self.other)))


def contradictions(new: str, known: str) -> list[str]:
    """Return hints on what two texts may disagree, the clearest first; an empty list if there are none."""
    pairs = [
        (here, there, _compare(here, there))
        for here, there in product(_clauses_of_new(new), _clauses(known))
        if not here.vocabulary.isdisjoint(there.vocabulary) or not set(here.stems).isdisjoint(there.stems)
    ]
    found = (hint for sign in _SIGNS for pair in pairs for hint in sign(*pair))
    return list(dict.fromkeys(found))[:MOST_HINTS]


def may_say_same(one: str, other: str) -> bool:
    """Return whether two similar texts may say the same: nothing in them tells that they are about different cases.

    Call it for texts that are close in meaning, where `contradictions` found nothing. Vectors put “public endpoints are
    limited” beside “internal endpoints are not limited”: one denies what the other affirms, has other numbers, or an
    opposite. Of longer texts those statements are compared that have the most words in common.
    """
    here, there = _clauses(one), _clauses(other)
    numbers = [frozenset(chain.from_iterable(clause.values for clause in clauses)) for clauses in (here, there)]
    if all(numbers) and numbers[0].isdisjoint(numbers[1]):
        return False
    pairs = [(a, b, _compare(a, b)) for a, b in product(here, there)]
    if not pairs:
        return True
    first, second, compared = max(pairs, key=lambda pair: len(pair[2].shared))
    return first.is_denied == second.is_denied and not compared.opposites and _days_meet(first, second)


def differs_in_a_word(one: str, other: str) -> bool:
    """Return whether two texts are one statement with another word in one place: “the API is slow”, “the shop is slow”.

    Then they may be about two things, however near their vectors are.
    """
    here, there = _clauses(one), _clauses(other)
    if len(here) != 1 or len(there) != 1:
        return False
    compared = _compare(here[0], there[0])
    own = compared.about - compared.other
    in_order = [
        [stem if stem in compared.shared else "" for stem in _stems_in_order(clause)] for clause in (here[0], there[0])
    ]
    return 0 < len(own) <= 2 <= len(compared.shared) and in_order[0] == in_order[1]


def _stems_in_order(clause: _Clause) -> list[str]:
    return [clause.stems[place] for place in clause.content]


def _compare(here: _Clause, there: _Clause) -> _Compared:
    """Return what two clauses are about, with opposites and other forms of a word put as one."""
    about, other = set(here.about), set(there.about)
    opposites = []
    mine, theirs = set(here.stems) - set(there.stems), set(there.stems) - set(here.stems)
    for word in sorted(mine):
        for against in sorted(_EXCLUDED.get(word, set()) & theirs) or _opposite_forms(word, theirs):
            opposites.append((word, against))
            theirs.discard(against)
            about.discard(word)
            other.discard(against)
            break
    for word in sorted(about - other):
        for form in sorted(other - about):
            if _is_form(word, form):
                other.discard(form)
                other.add(word)
                break
    return _Compared(frozenset(about), frozenset(other), opposites)


def _opposite_forms(word: str, others: set[str]) -> list[str]:
    """Return the word with “un” or the like before it, or without, where the other clause has that."""
    forms = {f"{prefix}{word}" for prefix in ("un", "in", "im", "non", "dis")} & others
    forms |= {
        word.removeprefix(prefix) for prefix in ("un", "in", "im", "non", "dis") if word.startswith(prefix)
    } & others
    return sorted(form for form in forms if len(form) > 3 and form != word)


def _is_form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short) and long[len(short) :] in _ENDINGS


def _holders(here: _Clause, there: _Clause, _: _Compared) -> Iterator[str]:
    """Only X may do it, and others may, or nobody."""
    if _is_shared(here, there) or _is_shared(there, here):
        yield _both(here, there)


def _is_shared(only: _Clause, other: _Clause) -> bool:
    """Whether one lets others, or nobody at all, do what the first leaves to its holder alone."""
    if other.is_denied:
        same = bool(other.about) and other.about == only.about and _days_meet(only, other)
        return same and bool(only.holder) and not other.holder
    holder, about = _holder_against(only, other)
    named = (other.about | other.holder) - about
    is_for_all, is_joined = other.has(_EVERYONE), _is_joined(holder, other)
    first = other.stems[other.content[0]] if other.content else ""
    return (
        bool(holder and about)
        and about <= other.about | other.holder
        and (is_for_all or bool(other.holder) or first in named or is_joined or other.has(_PERMITTING | _ALSO))
        and (is_for_all or bool(named))
        and (is_joined or not holder <= named)
        and _days_meet(only, other)
    )


def _is_joined(holder: frozenset[str], other: _Clause) -> bool:
    """Whether the clause names someone besides the holder: “by Ada or Grace”."""
    joints = (place for place, word in enumerate(other.words) if word in _ADDING and 0 < place < len(other.words) - 1)
    return any(not holder.isdisjoint((other.stems[place - 1], other.stems[place + 1])) for place in joints)


def _holder_against(only: _Clause, other: _Clause) -> tuple[frozenset[str], frozenset[str]]:
    """Return the holder and the rest, where no verb ends the holder: it ends before the first word that both have."""
    if only.words[0] not in _ALONE or only.has(_PERMITTING | _BEING):
        return only.holder, only.about
    end = next((at for at in only.content if only.stems[at] in other.about), 0)
    return (_content(only.words[:end]), _content(only.words[end:])) if end else (only.holder, only.about)


def _limits(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """Only in one case here; in every case, or in another one as well, there."""
    for only, other in ((here, there), (there, here)):
        if not only.has(_ALONE) or only.holder or other.has(_ALONE) or only.is_denied or other.is_denied:
            continue
        is_for_all = other.has(_EVERYONE) and other.about < only.about
        is_for_more = other.has(_ALSO | _ADDING) and only.about < other.about
        if len(only.about & other.about) >= 2 and (is_for_all or is_for_more):
            yield _both(here, there)


def _denials(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """The same, once denied and once not; an opposite denies, too."""
    if here.holder or there.holder or not _days_meet(here, there):
        return
    opposites = compared.opposites
    shared = len(compared.shared) + bool(here.days & there.days)
    if not (here.is_denied ^ there.is_denied ^ (len(opposites) % 2 == 1)):
        return
    if len(opposites) == 1 and here.is_denied == there.is_denied and compared.is_same:
        one, other = opposites[0]
        yield f"“{here.words[here.stems.index(one)]}” here, “{there.words[there.stems.index(other)]}” there"
    elif shared >= 2 and compared.is_same:
        yield _both(here, there)


def _exceptions(here: _Clause, there: _Clause, _: _Compared) -> Iterator[str]:
    """Without exception here, with one there."""
    for general, special in ((here, there), (there, here)):
        place = next((at for at, word in enumerate(special.words) if word in _UNLESS), 0)
        if not place or special.holder or general.has(_UNLESS) or not general.has(_ALWAYS):
            continue
        before = _content(special.words[:place])
        # “All tables but the logs have a key”: what is said of the rest may come after the exception.
        is_same = before == general.about or before <= general.about < special.about
        if before and general.about and is_same and len(special.words) > place + 1:
            yield _both(here, there)


def _bindings(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """Required here, left free there."""
    if here.holder or there.holder or len(compared.shared) < 2 or not compared.is_alike:
        return
    binds = [(one.has(_OBLIGING) and not _is_waived(one), one.has(_LEAVING_FREE)) for one in (here, there)]
    waived = [_is_waived(one) for one in (here, there)]
    if (here.is_denied or there.is_denied) and not any(waived):
        return
    if sorted(binds) == [(False, True), (True, False)]:
        yield _both(here, there)


def _is_waived(clause: _Clause) -> bool:
    """Whether it says “not required”: that permits, and forbids nothing."""
    return any(word == "not" and following in _OBLIGING for word, following in pairwise(clause.words))


def _numbers(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """The same word or unit with another number."""
    if not compared.is_same or compared.opposites or here.is_denied != there.is_denied or not _days_meet(here, there):
        return
    names = (here.numbers.keys() & there.numbers.keys()) - {""}
    differing = [name for name in sorted(names) if here.numbers[name].isdisjoint(there.numbers[name])]
    if named := [name for name in differing if name not in _MEASURED]:
        for name in named:
            one, other = (", ".join(sorted(clause.numbers[name])) for clause in (here, there))
            yield f"“{name}”: {one} here, {other} there"
    elif differing or (not names and _is_one_number_each(here, there)):
        yield _both(here, there)


def _is_one_number_each(here: _Clause, there: _Clause) -> bool:
    """Whether each has one number, they differ, and they may measure the same: minutes are no percentage."""
    measured = _MEASURED & here.numbers.keys() ^ _MEASURED & there.numbers.keys()
    return len(here.values) == len(there.values) == 1 and here.values != there.values and not measured


def _weekdays(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """The same on another day of the week."""
    is_plain = not any(one.is_denied or one.holder or one.has(_ALSO) for one in (here, there))
    is_same = compared.is_same and not compared.opposites and here.values == there.values
    if is_plain and is_same and not _days_meet(here, there):
        yield _both(here, there)


def _choices(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """Use this for it, use that for it."""
    chooses = here.has(_CHOOSING) and there.has(_CHOOSING) and here.is_denied == there.is_denied
    only_here, only_there = compared.about - compared.other, compared.other - compared.about
    if chooses and len(only_here) == len(only_there) == 1 and len(compared.shared) >= 2:
        yield _both(here, there)


def _values(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """Another value in the same place of the same statement."""
    if here.is_denied or there.is_denied or here.has(_ALSO) or there.has(_ALSO) or here.values != there.values:
        return
    if compared.opposites or not _days_meet(here, there) or not compared.shared:
        return
    one, other = _value_in(here, compared.other), _value_in(there, compared.about)
    if one is None or other is None:
        return
    is_first = one[0] == here.content[0] and other[0] == there.content[0]
    is_alternative = bool(_groups_of(here, one) & _groups_of(there, other)) and not is_first
    is_held = _holds_one(here, one, compared) and _holds_one(there, other, compared)
    if is_alternative or is_held or (is_first and _are_owners(here, one, there, other)):
        yield _both(here, there)


def _groups_of(clause: _Clause, value: list[int]) -> set[int]:
    """Return the numbers of the groups of alternatives that the words of a value belong to."""
    return {_GROUP_OF[clause.stems[at]] for at in value if clause.stems[at] in _GROUP_OF}


def _value_in(clause: _Clause, others: frozenset[str]) -> list[int] | None:
    """Return the places of the words that only this clause has, if they stand together as one value does."""
    places = [at for at in clause.content if clause.stems[at] not in others and clause.stems[at] in clause.about]
    if not places or len(places) > MOST_VALUE_WORDS:
        return None
    between = {clause.words[at] for at in range(places[0], places[-1]) if at not in places}
    return places if between <= _JOINING else None


def _holds_one(clause: _Clause, value: list[int], compared: _Compared) -> bool:
    """Whether what stands before a value can have one at a time."""
    place = value[0] - 1
    while place >= 0 and clause.words[place] in _PLACING | _ARTICLES:
        place -= 1
    # “owned by team Falcon”: what sort of thing the value is stands between.
    if place > 0 and clause.stems[place] in compared.shared and clause.words[place - 1] in _PLACES_AT:
        place -= 2
    is_placed = not _PLACES_AT.isdisjoint(clause.words[place + 1 : value[0]])
    if place < 0:
        return False
    verb, order = clause.stems[place], clause.stems[0]
    if clause.words[place] in _BEING:
        subject = compared.shared & {clause.stems[at] for at in clause.content if at < place}
        return not clause.words[value[0]].endswith(("ed", "ing", "en")) and (
            len(subject) >= 2 or (is_placed and bool(subject))
        )
    if clause.words[place] in _CHOOSING:
        return len(compared.shared - {verb}) >= 2 or (place == 0 and bool(compared.shared - {verb}))
    # “Write commit messages in the past tense.”
    is_ordered = is_placed and place > 0 and clause.content[0] == 0 and order in _HOLDING | _HOLDING_PLACED
    is_held = verb in compared.shared and (verb in _HOLDING or (is_placed and verb in _HOLDING_PLACED))
    return is_held or (is_ordered and order in compared.shared)


def _are_owners(here: _Clause, one: list[int], there: _Clause, other: list[int]) -> bool:
    """Whether two names stand before the same verb that has one subject at a time: “owns”, “leads”."""
    verbs = [
        clause.stems[value[-1] + 1] if value[-1] + 1 < len(clause.stems) and len(value) <= 2 else ""
        for clause, value in ((here, one), (there, other))
    ]
    return verbs[0] == verbs[1] and verbs[0] in _OWNING


def _changes(here: _Clause, there: _Clause, compared: _Compared) -> Iterator[str]:
    """What one says to be so now is not what the other says."""
    says = here.has(_NOW) or there.has(_NOW)
    only_here, only_there = compared.about - compared.other, compared.other - compared.about
    if says and len(compared.shared) >= 2 and only_here and only_there and here.is_denied == there.is_denied:
        yield _both(here, there)


_SIGNS: tuple[Callable[[_Clause, _Clause, _Compared], Iterator[str]], ...] = (
    _holders,
    _limits,
    _denials,
    _exceptions,
    _bindings,
    _numbers,
    _weekdays,
    _choices,
    _values,
    _changes,
)


def _both(here: _Clause, there: _Clause) -> str:
    return f"{here.quoted} here, {there.quoted} there"


def _days_meet(one: _Clause, other: _Clause) -> bool:
    return not (one.days and other.days) or bool(one.days & other.days)


def _clauses(text: str) -> list[_Clause]:
    """The statements of a text. Of its first line, when others follow, only what states something: it is a title."""
    title, _, rest = text.strip().partition("\n")
    heading = [clause for clause in _clauses_of(title) if clause.is_statement or not rest]
    return [*heading, *_clauses_of(rest)][:MOST_CLAUSES]


_clauses_of_new = lru_cache(maxsize=1)(_clauses)
"""Cached, because a new text is compared with several stored ones."""


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
    words = _join_dates(["manually" if pair == ("by", "hand") else pair[0] for pair in pairwise([*words, ""])])
    holder, rest = _who_alone(words)
    return _Clause(
        words=words,
        about=_content(rest),
        holder=_content(holder),
        days=_days_in(words),
        numbers=_numbers_in(words),
        is_denied=sum(_denies(words, place) for place in range(len(words))) % 2 == 1,
    )


def _join_dates(words: list[str]) -> list[str]:
    """Return the words with each date as one of them: “15 december”, “october 2025”; and numbers without “th”."""
    plain = [word for at, word in enumerate(words) if not (word in _ORDINAL and at and words[at - 1].isdecimal())]
    joined: list[str] = []
    for at, word in enumerate(plain):
        is_year = word.isdecimal() and len(word) == 4
        if joined and joined[-1][0].isdigit() and joined[-1].isdecimal() and _is_month(plain, at):
            joined[-1] = f"{joined[-1]} {word}"
        elif word.isdecimal() and at and _is_month(plain, at - 1) and joined[-1] == plain[at - 1]:
            joined[-1] = f"{word} {joined[-1]}"
        elif is_year and joined and " " in joined[-1]:
            joined[-1] = f"{joined[-1]} {word}"
        else:
            joined.append(word)
    return joined


def _is_month(words: list[str], at: int) -> bool:
    """Whether a word names a month. “May” does so only at the end, or before a year."""
    following = words[at + 1] if at + 1 < len(words) else ""
    return words[at] in _MONTHS or (words[at] == "may" and (not following or following.isdecimal()))


def _denies(words: list[str], place: int) -> bool:
    """Whether the word at a position negates: one of the two does in “no longer”, neither in “no longer than a day”."""
    word, before = words[place], words[place - 1] if place else ""
    if word == "longer" and before in _NEGATIONS:
        return place + 1 < len(words) and words[place + 1] == "than"
    return word in _NEGATIONS or word.endswith("n't")


def _is_content(word: str) -> bool:
    is_word = word not in _STRUCTURE and not word.endswith("n't") and word not in _NUMERALS and word[0].isalpha()
    return is_word and _stem(word) not in _MEASURES


def _content(words: list[str]) -> frozenset[str]:
    """The words that say what it is about, without their endings; numbers and days are compared by themselves."""
    return frozenset(_stem(word) for word in words if _is_content(word))


def _who_alone(words: list[str]) -> tuple[list[str], list[str]]:
    """Who alone is meant by “only”, and the rest: “only ops may deploy”, “deployed only by ops”, “nobody but ops”."""
    for place, word in enumerate(words):
        is_exception = word in _BUT and place and words[place - 1] in {"nobody", "one", "none"}
        if word in _ALONE or is_exception:
            before, after = words[: place - is_exception], words[place + 1 :]
            if named := _who_after_by(after) or ([] if _content(after) else _who_after_by(before)):
                return named, words[: words.index("by")]
            if _content(before):
                return (after, before) if after and after[0] in {"by", "to", "for"} else ([], words)
            end = next((at for at, following in enumerate(after) if following in _PERMITTING | {"is", "are"}), 1)
            return after[:end], after[end:]
    return [], words


def _who_after_by(words: list[str]) -> list[str]:
    """Who is named after “by”: “handed out by security only”, “is only written to by migrations”."""
    return words[words.index("by") + 1 :] if "by" in words else []


def _days_in(words: list[str]) -> frozenset[str]:
    days: set[str] = set()
    named = [word.removesuffix("s") for word in words]
    for place, word in enumerate(named):
        days.update(_SEVERAL_DAYS.get(word, (word,) if word in _DAYS else ()))
        last = named[place + 2] if place + 2 < len(named) else ""
        if word in _DAYS and last in _DAYS and words[place + 1] in _UNTIL:
            days.update(_DAYS[_DAYS.index(word) : _DAYS.index(last) + 1])
    return frozenset(days)


def _numbers_in(words: list[str]) -> dict[str, frozenset[str]]:
    """Each number by the word after it, or before it where it ends the clause; times in seconds, sizes in KB."""
    found: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        before = words[place - 1] if place else ""
        is_one = word in {"a", "an"} and before in _LASTING and after.removesuffix("s") in _SECONDS
        number = "1" if is_one else _NUMERALS.get(word, word.replace(",", ""))
        if not number[0].isdigit():
            continue
        unit = after.removesuffix("s")
        is_plain = number.isdecimal() and len(number) < 10
        if unit in _SECONDS and is_plain:
            found.setdefault("seconds", set()).add(str(int(number) * _SECONDS[unit]))
        elif after in _BYTES and is_plain:
            found.setdefault("bytes", set()).add(str(int(number) * _BYTES[after]))
        elif ":" in number or after in {"am", "pm"}:
            found.setdefault("o'clock", set()).add(_clock(number, after))
        elif after and after not in _LIGHT:
            found.setdefault(_stem(after) if after[0].isalpha() else after, set()).add(number)
        else:
            found.setdefault(_stem(before) if before and before not in _LIGHT else "", set()).add(number)
    return {name: frozenset(numbers) for name, numbers in found.items()}


def _clock(number: str, half: str) -> str:
    """Return a time of day as 24-hour clocks show it; what is none, such as a ratio of 0.5:2, as it stands."""
    hour, _, minutes = number.replace(".", ":").partition(":")
    if half in {"am", "pm"} and hour.isdecimal():
        return f"{int(hour[:2]) % 12 + (12 if half == 'pm' else 0)}:{minutes or '00'}"
    hour, _, minutes = number.partition(":")
    return f"{int(hour[:2])}:{minutes or '00'}" if hour.isdecimal() else number

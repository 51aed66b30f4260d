"""Contradictions: what two texts about the same thing may disagree on. A hint for a user, never a verdict.

No model decides here. Both texts are split into clauses. Two clauses about the same thing are compared for the signs by
which statements usually differ: who alone may do it, whether it is denied, an exception, how binding it is, a number, a
day, an opposite (“before”, “after”), or another value in the same place (“is kept in Dublin”). Clauses of which each
says something that the other does not (“on staging”, “in production”) are about different things. Every step takes time
in proportion to the text.

Comments quote the pair that a condition is there for; `benchmarks/truth` has all pairs, and those that can both hold.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, pairwise, product
from typing import NamedTuple

from knowledge.truth.opposites import ALTERNATIVES, OPPOSITES, groups_in

from .statement_parsing import (
    ALONE,
    CHOOSING,
    EVERYONE,
    LEAVING_FREE,
    OBLIGING,
    PERMITTING,
    UNLESS,
    Clause,
    content_stems,
    days_meet,
    read_clauses,
    stem,
    word_set,
)

MOST_HINTS = 5
MOST_VALUE_WORDS = 3
"""Most words of a value. Texts that differ in more words are different statements."""
ALIKE = 0.75
"""The share of the shorter clause's words that the other needs, where both may say something of their own."""

_ALWAYS = EVERYONE | word_set("always never no nobody none nothing")
_ALSO = word_set("also too additionally besides well another")
_ADDING = word_set("and or plus")
_NOW = word_set("now moved switched migrated changed became renamed replaced nowadays")
_BEING = word_set("is are was were be am")
_JOINING = word_set("a an the of and")
_ARTICLES = word_set("a an the its our")
_PLACES_AT = word_set("in at on by with from for as under into")
_PLACING = word_set("in at on by with from to for as under into of")
_ENDINGS = word_set("ment ion ation atur ature er or ing al ly ance ence ity ness")
_MEASURED = frozenset({"seconds", "bytes", "o'clock", "%"})


def _stems(listed: str) -> frozenset[str]:
    return frozenset(map(stem, listed.split()))


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
for _first, *_others in ([stem(word) for word in group] for group in groups_in(OPPOSITES)):
    for _other in _others:
        _EXCLUDED.setdefault(_first, set()).add(_other)
        _EXCLUDED.setdefault(_other, set()).add(_first)
_GROUP_OF = {stem(word): number for number, group in enumerate(groups_in(ALTERNATIVES)) for word in group}


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
        for here, there in product(_clauses_of_new(new), read_clauses(known))
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
    here, there = read_clauses(one), read_clauses(other)
    numbers = [frozenset(chain.from_iterable(clause.values for clause in clauses)) for clauses in (here, there)]
    if all(numbers) and numbers[0].isdisjoint(numbers[1]):
        return False
    pairs = [(a, b, _compare(a, b)) for a, b in product(here, there)]
    if not pairs:
        return True
    first, second, compared = max(pairs, key=lambda pair: len(pair[2].shared))
    return first.is_denied == second.is_denied and not compared.opposites and days_meet(first, second)


def differs_in_a_word(one: str, other: str) -> bool:
    """Return whether two texts are one statement with another word in one place: “the API is slow”, “the shop is slow”.

    Then they may be about two things, however near their vectors are.
    """
    here, there = read_clauses(one), read_clauses(other)
    if len(here) != 1 or len(there) != 1:
        return False
    compared = _compare(here[0], there[0])
    own = compared.about - compared.other
    in_order = [
        [stem if stem in compared.shared else "" for stem in _stems_in_order(clause)] for clause in (here[0], there[0])
    ]
    return 0 < len(own) <= 2 <= len(compared.shared) and in_order[0] == in_order[1]


def _stems_in_order(clause: Clause) -> list[str]:
    return [clause.stems[place] for place in clause.content]


def _compare(here: Clause, there: Clause) -> _Compared:
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
    """Return the word with “un” or the like before it, or without, where the other clause has that: “unencrypted”."""
    forms = {f"{prefix}{word}" for prefix in ("un", "in", "im", "non", "dis")} & others
    forms |= {
        word.removeprefix(prefix) for prefix in ("un", "in", "im", "non", "dis") if word.startswith(prefix)
    } & others
    return sorted(form for form in forms if len(form) > 3 and form != word)


def _is_form(one: str, other: str) -> bool:
    # “signed” and “signature” are one word for this.
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short) and long[len(short) :] in _ENDINGS


def _holders(here: Clause, there: Clause, _: _Compared) -> Iterator[str]:
    """Only X may do it, and others may, or nobody."""
    if _is_shared(here, there) or _is_shared(there, here):
        yield _both(here, there)


def _is_shared(only: Clause, other: Clause) -> bool:
    """Whether one lets others, or nobody at all, do what the first leaves to its holder alone."""
    if other.is_denied:
        # “Members may not approve entries” agrees with “only curators may approve entries”.
        same = bool(other.about) and other.about == only.about and days_meet(only, other)
        return same and bool(only.holder) and not other.holder
    holder, about = _holder_against(only, other)
    named = (other.about | other.holder) - about
    is_for_all, is_joined = other.has(EVERYONE), _is_joined(holder, other)
    first = other.stems[other.content[0]] if other.content else ""
    # “Only admins create keys” and “keys are created by admins” agree; “everyone may open merge requests” is not what
    # “only maintainers may merge to main” is about.
    return (
        bool(holder and about)
        and about <= other.about | other.holder
        and (is_for_all or bool(other.holder) or first in named or is_joined or other.has(PERMITTING | _ALSO))
        and (is_for_all or bool(named))
        and (is_joined or not holder <= named)
        and days_meet(only, other)
    )


def _is_joined(holder: frozenset[str], other: Clause) -> bool:
    """Whether the clause names someone besides the holder: “by Ada or Grace”."""
    joints = (place for place, word in enumerate(other.words) if word in _ADDING and 0 < place < len(other.words) - 1)
    return any(not holder.isdisjoint((other.stems[place - 1], other.stems[place + 1])) for place in joints)


def _holder_against(only: Clause, other: Clause) -> tuple[frozenset[str], frozenset[str]]:
    """Return the holder and the rest, where no verb ends the holder: it ends before the first word that both have.

    In “only the platform group merges updates” no word such as “may” ends the holder.
    """
    if only.words[0] not in ALONE or only.has(PERMITTING | _BEING):
        return only.holder, only.about
    end = next((at for at in only.content if only.stems[at] in other.about), 0)
    return (content_stems(only.words[:end]), content_stems(only.words[end:])) if end else (only.holder, only.about)


def _limits(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """Only in one case here; in every case, or in another one as well, there: “only in Rust”, “in Rust and Go”."""
    for only, other in ((here, there), (there, here)):
        if not only.has(ALONE) or only.holder or other.has(ALONE) or only.is_denied or other.is_denied:
            continue
        is_for_all = other.has(EVERYONE) and other.about < only.about
        is_for_more = other.has(_ALSO | _ADDING) and only.about < other.about
        if len(only.about & other.about) >= 2 and (is_for_all or is_for_more):
            yield _both(here, there)


def _denials(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """The same, once denied and once not; an opposite denies, too."""
    # Where someone alone may do it, `_holders` decides: “members may not” agrees with “only curators may”.
    if here.holder or there.holder or not days_meet(here, there):
        return
    opposites = compared.opposites
    # The day is half of what “do not deploy on Fridays” and “deploy on any weekday” share.
    shared = len(compared.shared) + bool(here.days & there.days)
    # Each denial and each opposite turns the meaning round: after two of them both say the same.
    if not (here.is_denied ^ there.is_denied ^ (len(opposites) % 2 == 1)):
        return
    if len(opposites) == 1 and here.is_denied == there.is_denied and compared.is_same:
        one, other = opposites[0]
        yield f"“{here.words[here.stems.index(one)]}” here, “{there.words[there.stems.index(other)]}” there"
    # Not where each is about something of its own: “admins can delete projects”, “members cannot delete projects”.
    elif shared >= 2 and compared.is_same:
        yield _both(here, there)


def _exceptions(here: Clause, there: Clause, _: _Compared) -> Iterator[str]:
    """Without exception here, with one there."""
    for general, special in ((here, there), (there, here)):
        place = next((at for at, word in enumerate(special.words) if word in UNLESS), 0)
        if not place or special.holder or general.has(UNLESS) or not general.has(_ALWAYS):
            continue
        before = content_stems(special.words[:place])
        # “All tables but the logs have a key”: what is said of the rest may come after the exception.
        is_same = before == general.about or before <= general.about < special.about
        if before and general.about and is_same and len(special.words) > place + 1:
            yield _both(here, there)


def _bindings(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """Required here, left free there; not “commit messages must name a ticket”, “branch names may name a ticket”."""
    if here.holder or there.holder or len(compared.shared) < 2 or not compared.is_alike:
        return
    binds = [(one.has(OBLIGING) and not _is_waived(one), one.has(LEAVING_FREE)) for one in (here, there)]
    waived = [_is_waived(one) for one in (here, there)]
    if (here.is_denied or there.is_denied) and not any(waived):
        return
    if sorted(binds) == [(False, True), (True, False)]:
        yield _both(here, there)


def _is_waived(clause: Clause) -> bool:
    """Whether it says “not required”: that permits, and forbids nothing."""
    return any(word == "not" and following in OBLIGING for word, following in pairwise(clause.words))


def _numbers(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """The same word or unit with another number, of the same thing: two services may listen on two ports."""
    if not compared.is_same or compared.opposites or here.is_denied != there.is_denied or not days_meet(here, there):
        return
    names = (here.numbers.keys() & there.numbers.keys()) - {""}
    differing = [name for name in sorted(names) if here.numbers[name].isdisjoint(there.numbers[name])]
    if named := [name for name in differing if name not in _MEASURED]:
        for name in named:
            one, other = (", ".join(sorted(clause.numbers[name])) for clause in (here, there))
            yield f"“{name}”: {one} here, {other} there"
    elif differing or (not names and _is_one_number_each(here, there)):
        yield _both(here, there)


def _is_one_number_each(here: Clause, there: Clause) -> bool:
    """Whether each has one number, they differ, and they may measure the same: minutes are no percentage."""
    measured = _MEASURED & here.numbers.keys() ^ _MEASURED & there.numbers.keys()
    return len(here.values) == len(there.values) == 1 and here.values != there.values and not measured


def _weekdays(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """The same on another day of the week."""
    # “The team also meets on Thursdays” adds a day, and “starts at 9 on weekdays, at 11 at weekends” are two
    # statements.
    is_plain = not any(one.is_denied or one.holder or one.has(_ALSO) for one in (here, there))
    is_same = compared.is_same and not compared.opposites and here.values == there.values
    if is_plain and is_same and not days_meet(here, there):
        yield _both(here, there)


def _choices(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """Use this for it, use that for it; not “tabs in Go code” and “spaces in Python code”."""
    chooses = here.has(CHOOSING) and there.has(CHOOSING) and here.is_denied == there.is_denied
    only_here, only_there = compared.about - compared.other, compared.other - compared.about
    if chooses and len(only_here) == len(only_there) == 1 and len(compared.shared) >= 2:
        yield _both(here, there)


def _values(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """Another value in the same place of the same statement."""
    # “Kept in Vault” and “never kept in the repository” agree, and with other numbers it is another thing: “backups run
    # at 03:00”, “reports run at 06:00”.
    if here.is_denied or there.is_denied or here.has(_ALSO) or there.has(_ALSO) or here.values != there.values:
        return
    if compared.opposites or not days_meet(here, there) or not compared.shared:
        return
    one, other = _value_in(here, compared.other), _value_in(there, compared.about)
    if one is None or other is None:
        return
    is_first = one[0] == here.content[0] and other[0] == there.content[0]
    is_alternative = bool(_groups_of(here, one) & _groups_of(there, other)) and not is_first
    is_held = _holds_one(here, one, compared) and _holds_one(there, other, compared)
    if is_alternative or is_held or _are_owners(here, one, there, other):
        yield _both(here, there)


def _groups_of(clause: Clause, value: list[int]) -> set[int]:
    """Return the numbers of the groups of alternatives that the words of a value belong to."""
    return {_GROUP_OF[clause.stems[at]] for at in value if clause.stems[at] in _GROUP_OF}


def _value_in(clause: Clause, others: frozenset[str]) -> list[int] | None:
    """Return the places of the words that only this clause has, if they stand together as one value does."""
    places = [at for at in clause.content if clause.stems[at] not in others and clause.stems[at] in clause.about]
    if not places or len(places) > MOST_VALUE_WORDS:
        return None
    # Words that stand apart are several differences: “use ruff to format”, “use pytest to test”.
    between = {clause.words[at] for at in range(places[0], places[-1]) if at not in places}
    return places if between <= _JOINING else None


def _holds_one(clause: Clause, value: list[int], compared: _Compared) -> bool:
    """Whether what stands before a value can have one at a time: one lives in one place, but speaks many languages."""
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
    if clause.words[place] in CHOOSING:
        return len(compared.shared - {verb}) >= 2 or (place == 0 and bool(compared.shared - {verb}))
    # “Write commit messages in the past tense.”
    is_ordered = is_placed and place > 0 and clause.content[0] == 0 and order in _HOLDING | _HOLDING_PLACED
    is_held = verb in compared.shared and (verb in _HOLDING or (is_placed and verb in _HOLDING_PLACED))
    return is_held or (is_ordered and order in compared.shared)


def _are_owners(here: Clause, one: list[int], there: Clause, other: list[int]) -> bool:
    """Whether two names stand before the same verb that has one subject at a time: “owns”, “leads”."""
    verbs = [
        clause.stems[value[-1] + 1] if value[-1] + 1 < len(clause.stems) and len(value) <= 2 else ""
        for clause, value in ((here, one), (there, other))
    ]
    return verbs[0] == verbs[1] and verbs[0] in _OWNING


def _changes(here: Clause, there: Clause, compared: _Compared) -> Iterator[str]:
    """What one says to be so now is not what the other says: “works from Vienna”, “moved to Graz”."""
    says = here.has(_NOW) or there.has(_NOW)
    only_here, only_there = compared.about - compared.other, compared.other - compared.about
    if says and len(compared.shared) >= 2 and only_here and only_there and here.is_denied == there.is_denied:
        yield _both(here, there)


_SIGNS: tuple[Callable[[Clause, Clause, _Compared], Iterator[str]], ...] = (
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


def _both(here: Clause, there: Clause) -> str:
    return f"{here.quoted} here, {there.quoted} there"


_clauses_of_new = lru_cache(maxsize=1)(read_clauses)
"""Cached, because a new text is compared with several stored ones. One and no more: what a user erases must not stay in
the process."""

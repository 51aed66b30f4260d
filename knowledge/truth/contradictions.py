"""Contradictions: what two texts about the same thing may disagree on. A hint for a user, never a verdict.

No model decides here. Two statements are compared only if they are about the same: neither has a subject, a name or a
condition of its own beside that of the other. Then they may differ in one thing: a quantity, a day, how binding it is
or whether it is denied, who alone may do it, an exception, an opposite, or another value in the same place. What
differs in two things is about two cases. Where a rule is not sure, it is silent. Every step takes time in proportion to
the text.

`benchmarks/truth` has the pairs that the rules were fitted on, and those that they were not.
"""

from collections.abc import Collection, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise, product

from . import statement_words as said
from .statement_parsing import Clause, Statements, read_statements, stem

MOST_HINTS = 5
MOST_VALUE_WORDS = 3
"""Most words of a value. Texts that differ in more words are different statements."""
LEAST_TEMPLATE = 3
"""Fewest statements that tell a template."""
TOLERANCE = 0.04
"""Two weeks are 14 days, and half a year is six months: shares by which equal quantities differ."""

_OPPOSITE: dict[str, set[str]] = {}
for _first, *_others in ([stem(word) for word in group] for group in said.groups_in(said.OPPOSITES)):
    for _other in _others:
        _OPPOSITE.setdefault(_first, set()).add(_other)
        _OPPOSITE.setdefault(_other, set()).add(_first)
_GROUP_OF = {stem(word): number for number, group in enumerate(said.groups_in(said.ALTERNATIVES)) for word in group}
_KEEPING = frozenset(map(stem, ("keep", "retain")))
_FORMS = said.word_set("ment ion atur ature ur er or ing al ly ance ence ity ness um ung r")
_PREFIXES = ("un", "in", "im", "non", "dis", "de")
_NOBODY = said.word_set("nobody none no niemand keiner personne nadie")
_UNITS = {"seconds", "every", "bytes", "o'clock", "date", "%"}
_MUST_NOT = said.word_set("must shall doit doivent debe deben")
_NEVER = said.word_set(
    "never no nothing nobody nie niemals keine kein jamais aucun aucune nunca jamas ningun avoid cannot"
)
_BEING = said.word_set("is are was were be ist sind est sont es son esta estan") | frozenset(
    map(stem, ["is", "are", "ist", "sind", "est", "sont", "es", "son", "esta", "estan", "liegt", "liegen"])
)
_DIRECT = frozenset(map(stem, said.DIRECT))
_USING = frozenset(map(stem, said.USING))
_HOLDING = frozenset(map(stem, said.HOLDING))
_OWNING = frozenset(map(stem, said.OWNING))
_ROLES = frozenset(map(stem, said.ROLES))
_CHANGED = frozenset(map(stem, said.CHANGED))
_ARTICLES = said.word_set("a an the own our its der die das den dem le la les el los las un une")
_PURPOSE = said.word_set("to for zum zur fur um pour para")
_PLACES = said.word_set(
    "in at on with from under into through via uber por as im auf bei mit als a en dans sur avec comme con como de "
    "by von par"
)
_CLASH = {
    frozenset(pair)
    for pair in (
        *(("must", "never"), ("must", "free"), ("must", "not"), ("must", "optional"), ("may", "never")),
        *(("is", "never"), ("is", "not"), ("optional", "never")),
    )
}
"""What cannot both be said of one act."""


def contradictions(new: str, known: str) -> list[str]:
    """Return hints on what two texts may disagree, the clearest first; an empty list if there are none."""
    one, other = _read_new(new), read_statements(known)
    if _is_ended(one) or _is_ended(other) or _are_apart(one, other):
        return []
    is_titled = one.has_title and other.has_title and _is_same_title(one, other)
    hints = list(_differing_fields(one, other)) if is_titled else []
    for here, there in product(one.clauses, other.clauses):
        if not here.content.keys().isdisjoint(there.content) or (
            is_titled and here.content.keys() == there.content.keys()
        ):
            hints += _differences(here, there, is_titled=is_titled)
    return list(dict.fromkeys(hints))[:MOST_HINTS]


def may_say_same(one: str, other: str) -> bool:
    """Return whether two similar texts may say the same: nothing in them tells that they are about different cases.

    Call it for texts that are close in meaning, where `contradictions` found nothing. Vectors put “public endpoints are
    limited” beside “internal endpoints are not limited”: one denies what the other affirms, has other numbers, or an
    opposite. Of longer texts those statements are compared that have the most words in common.
    """
    here, there = read_statements(one), read_statements(other)
    if _are_apart(here, there):
        return False
    pairs = [_Pair(a, b) for a, b in product(here.clauses, there.clauses)]
    if not pairs:
        return True
    closest = max(pairs, key=lambda pair: len(pair.shared))
    return not closest.other_case and not closest.opposites and closest.forces[0] == closest.forces[1]


def differs_in_a_word(one: str, other: str) -> bool:
    """Return whether two texts are one statement with another word in one place: “the API is slow”, “the shop is slow”.

    Then they may be about two things, however near their vectors are.
    """
    here, there = read_statements(one).clauses, read_statements(other).clauses
    if len(here) != 1 or len(there) != 1:
        return False
    pair = _Pair(here[0], there[0])
    in_order = [[word if word in pair.shared else "" for word in clause.content] for clause in (here[0], there[0])]
    return 0 < len(pair.own[0]) <= 2 <= len(pair.shared) and in_order[0] == in_order[1]


def _is_ended(text: Statements) -> bool:
    """Whether a text says of itself that it holds no longer: “superseded by ADR 30”."""
    return any(clause.has(said.ENDED) for clause in (text.title, *text.clauses, *text.fields))


def _is_same_title(one: Statements, other: Statements) -> bool:
    here, there = one.title.content.keys(), other.title.content.keys()
    return bool(here and there) and (here <= there or there <= here)


def _are_numbered(one: Statements, other: Statements) -> bool:
    """Whether both titles have a number that tells which thing is meant, and not the same one: “Room 101”."""
    numbers = [
        {name: text.title.quantities[name] for name in text.title.quantities if name[0] == "#"} for text in (one, other)
    ]
    return numbers[0] != numbers[1] and all(numbers)


def _are_apart(one: Statements, other: Statements) -> bool:
    """Whether two texts are about two things of one sort: written from one template, or named differently."""
    here, there = one.title, other.title
    if not (one.has_title and other.has_title) or here.plain == there.plain:
        return False
    if _are_numbered(one, other):
        return True
    own = (here.content.keys() - there.content.keys(), there.content.keys() - here.content.keys())
    if own[0] & here.names and own[1] & there.names:
        return True
    statements = [(*text.clauses, *text.fields) for text in (one, other)]
    frames = [{_frame(clause, text.title.content.keys()) for clause in clauses}
              for text, clauses in zip((one, other), statements, strict=True)]  # fmt: skip
    common = len(frames[0] & frames[1])
    if not common or common * 2 < min(map(len, frames)):
        return False
    # “Order” and “order sync” are two things where a template is all that they have in common.
    equal = [{(clause.key, *clause.plain) for clause in clauses} for clauses in statements]
    return not _is_same_title(one, other) or (common >= LEAST_TEMPLATE and len(equal[0] & equal[1]) * 2 < common)


def _frame(clause: Clause, title: Collection[str]) -> tuple[str, ...]:
    """Return the words of a statement that a template has: without numbers, names and what the title says."""
    words = [word.stem for at, word in enumerate(clause.words) if at not in clause.measured and not word.is_name]
    return (*sorted(clause.key), *(() if clause.key else [word for word in words if word not in title]))


def _differing_fields(one: Statements, other: Statements) -> Iterator[str]:
    """Yield where a field has another value in two tables about the same thing."""
    for here, there in product(one.fields, other.fields):
        if here.key != there.key:
            continue
        differing, common = _unequal(here, there)
        own = (here.content.keys() - there.content.keys(), there.content.keys() - here.content.keys())
        if differing or (not common and own[0] and own[1] and not here.has(said.ADDING) and not there.has(said.ADDING)):
            yield f"“{here.excerpt}” here, “{there.excerpt}” there"


class _Pair:
    """Two statements: the words that both have, those that each has alone, and the opposites in them."""

    def __init__(self, here: Clause, there: Clause) -> None:
        self.clauses = here, there
        mine, theirs = set(here.content), set(there.content)
        self.opposites = []
        only_here, only_there = (set(one.stems) - set(other.stems) for one, other in ((here, there), (there, here)))
        for word in sorted(only_here):
            if against := sorted(_OPPOSITE.get(word, set()) & only_there) or _opposite_forms(word, only_there):
                # What is kept for 14 days is deleted after as many.
                if not (here.lasting & there.lasting and {word, against[0]} & _KEEPING):
                    self.opposites.append((word, against[0]))
                mine.discard(word)
                theirs.discard(against[0])
        for word, form in product(sorted(mine - theirs), sorted(theirs - mine)):
            if _is_form(word, form) and word not in theirs and form in theirs:
                theirs.discard(form)
                theirs.add(word)
        self.shared = mine & theirs
        # The day is half of what “do not deploy on Fridays” and “deploy on any weekday” share.
        self.common = len(self.shared) + bool(here.days & there.days)
        self.own = mine - theirs, theirs - mine

    @cached_property
    def forces(self) -> tuple[str, str]:
        """How binding each of them is."""
        return _force(self.clauses[0]), _force(self.clauses[1])

    @cached_property
    def unequal(self) -> list[str]:
        """What they measure differently."""
        return _unequal(*self.clauses)[0]

    @cached_property
    def other_days(self) -> bool:
        """Whether both name days, and none in common."""
        here, there = self.clauses
        return bool(here.days and there.days) and here.days.isdisjoint(there.days)

    @cached_property
    def other_case(self) -> bool:
        """Whether numbers or days tell that they are about different cases."""
        return bool(self.unequal) or self.other_days

    @cached_property
    def other_time(self) -> bool:
        """Whether one is about the past, or about what comes before, and the other is not."""
        here, there = self.clauses
        turned = any(
            (one.has(said.UNTIL) and other.has(said.FROM) and not one.has(said.FROM))
            or _is_past(one) != _is_past(other)
            for one, other in ((here, there), (there, here))
        )
        dated = "date" in self.unequal and (len(self.unequal) > 1 or _is_past(here))
        # “Never” has no exception, and leaves no condition open.
        is_case = here.has(said.CONDITION) != there.has(said.CONDITION) and set(self.forces) != {"never", "may"}
        # “Small changes need one”, “large changes need two”.
        is_other = any(one in here.before_verb and other in there.before_verb for one, other in self.opposites)
        # When something opens and when it closes are two things.
        is_other = is_other or bool(self.opposites and here.lasting & there.lasting & {"o'clock"})
        is_labelled = bool(here.labels and there.labels) and here.labels != there.labels
        return turned or dated or is_case or is_labelled or is_other

    @cached_property
    def turned_time(self) -> bool:
        """Whether one is about before, and the other about after."""
        before, after = said.word_set("before vor avant antes"), said.word_set("after nach apres despues")
        here, there = self.clauses
        return any(
            one.has(before) and other.has(after) and not one.has(after)
            for one, other in ((here, there), (there, here))
        ) or any(
            one.has(said.BELOW) and other.has(said.ABOVE) and not one.has(said.ABOVE)
            for one, other in ((here, there), (there, here))
        )  # fmt: skip

    @property
    def is_strict(self) -> bool:
        """Whether one says nothing of its own, and the other no name and no case of its own."""
        if self.own[0] and self.own[1]:
            return False
        # “No service may talk to it” is said of every service.
        clash = frozenset(self.forces) in _CLASH
        general = [
            clash and clause.has(said.ALWAYS) and not own for clause, own in zip(self.clauses, self.own, strict=True)
        ]
        is_detail = [self._is_detail(clause, own) for clause, own in zip(self.clauses, self.own, strict=True)]
        return bool(self.shared) and (any(general) or all(is_detail))

    def _is_detail(self, clause: Clause, own: set[str]) -> bool:
        """Whether what a statement has alone only describes more closely what both are about."""
        if own & clause.names or len(own) > max(2, len(self.shared)):
            return False
        # “There are three slots”, “the demo has one slot”.
        if own and own == clause.subject:
            return False
        # “Trial accounts of partners” are some of the trial accounts.
        if any(_is_of(clause, clause.content[word]) for word in own & clause.subject):
            return False
        # “Refresh tokens” are some of the tokens.
        content = list(clause.content)
        following = dict(pairwise(content))
        near = (following.get(word, "") for word in own & clause.subject)
        steps = {word: clause.content[word] for word in content}
        return not any(
            word in clause.subject & self.shared and steps[word] - 1 in {steps[one] for one in own} for word in near
        )

    def _are_sorts(self) -> bool:
        """Whether each names another sort of the same: “generated files”, “lock files”."""
        heads = []
        for clause, own in zip(self.clauses, self.own, strict=True):
            content = list(clause.content)
            pairs = pairwise(content)
            heads.append({head for word, head in pairs if word in own and head in self.shared})
        return bool(heads[0] & heads[1])

    @property
    def is_same_act(self) -> bool:
        """Whether both are about one act, in other words perhaps: each has the subject of the other."""
        if self.common < 2 and any(self.own):
            return False
        if not (self.own[0] and self.own[1]):
            return self.is_strict
        here, there = self.clauses
        if self.own[0] & here.names and self.own[1] & there.names:
            return False
        if all(map(_is_placed, self.clauses, self.own)) or self._are_sorts():
            return False
        sizes = sorted(map(len, self.own))
        subjects = (here.subject <= there.content.keys(), there.subject <= here.content.keys())
        # “Every vendor needs one”, “small vendors can start without”.
        if here.subject & there.subject and any(clause.has(said.ALWAYS) for clause in self.clauses):
            return sizes[0] <= 1 and sizes[1] <= 2
        return sizes[0] <= 1 and sizes[1] <= 2 and all(subjects) and bool(here.subject or there.subject)


def _is_of(clause: Clause, at: int) -> bool:
    """Whether the word at a place says of which of several: “of partners”, “for the gateway”."""
    return not said.OF.isdisjoint(clause.plain[max(0, at - 2) : at])


def _is_form(one: str, other: str) -> bool:
    # “signed” and “signature” are one word for this.
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short) and long[len(short) :] in _FORMS


def _is_placed(clause: Clause, own: set[str]) -> bool:
    """Whether what a statement has alone is where, when or for whom it holds: “in production”."""
    return any(
        not said.INSIDE.isdisjoint(clause.plain[max(0, clause.content[word] - 2) : clause.content[word]])
        for word in own
    )


def _opposite_forms(word: str, others: set[str]) -> list[str]:
    """Return the word with “un” or the like before it, or without, where the other clause has that: “unencrypted”."""
    forms = {f"{prefix}{word}" for prefix in _PREFIXES} & others
    forms |= {word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)} & others
    return sorted(form for form in forms if len(form) > 3 and form != word)


def _is_past(clause: Clause) -> bool:
    used_to = any(pair == ("used", "to") for pair in pairwise(clause.plain))
    return used_to or clause.has(said.PAST)


def _force(clause: Clause) -> str:
    """Return how binding a statement is: it must be, may be, need not be, never is; or is so, or is not."""
    is_denied = clause.denials % 2 == 1
    if clause.has(said.FREE):
        pairs = pairwise(clause.plain)
        return "must" if any(one in said.NEGATIONS and other in said.FREE for one, other in pairs) else "optional"
    if clause.has(said.FORBIDDING):
        return "never" if is_denied else "may"
    may, must = clause.has(said.PERMITTING), clause.has(said.OBLIGING)
    if may:
        is_left_out = clause.has(said.AVOIDING) or clause.has(said.word_set("without ohne sans sin"))
        return ("free" if is_left_out else "never") if is_denied else ("must" if clause.denials else "may")
    if must:
        return ("never" if clause.has(_MUST_NOT) else "free") if is_denied else "must"
    if is_denied:
        is_order = clause.plain[0] in {"do", "don't", "not"}
        return "never" if clause.has(_NEVER) or is_order else "not"
    return "must" if clause.denials else "is"


def _differences(here: Clause, there: Clause, *, is_titled: bool) -> Iterator[str]:
    """Yield how two statements differ, if they differ in one thing only."""
    if _differ_in_one_thing(_Pair(here, there), is_titled=is_titled):
        yield f"“{here.excerpt}” here, “{there.excerpt}” there"


def _differ_in_one_thing(pair: _Pair, *, is_titled: bool) -> bool:
    here, there = pair.clauses
    if pair.other_time or not (pair.shared or is_titled):
        return False
    # “No flag stays” and “flags must be removed” agree.
    clashes = (
        frozenset(pair.forces) in _CLASH and here.has(said.REMOVING) == there.has(said.REMOVING) and _is_one_case(pair)
    )
    kinds = [bool(pair.unequal), pair.other_days, clashes, bool(pair.opposites), pair.turned_time]
    is_only = _is_only(here) or _is_only(there)
    if is_only and not any(kinds[1:2] + kinds[4:]):
        return _lets_others(pair)
    if _excepts(pair) and not pair.other_case:
        return True
    if sum(kinds) == 1:
        is_bare = is_titled and not any(pair.own)
        return bool(
            (pair.unequal and (pair.is_strict or is_bare))
            or _is_other_day(pair)
            or (clashes and pair.is_same_act)
            or ((pair.turned_time or len(pair.opposites) == 1) and _is_opposed(pair))
        )
    return not any(kinds) and (_is_other_value(pair) or _is_swapped(pair) or _is_changed(pair))


def _is_one_case(pair: _Pair) -> bool:
    """Whether what one denies is what the other affirms, and neither names an amount for it alone."""
    for clause, own, others in zip(pair.clauses, pair.own, pair.own[::-1], strict=True):
        denying = next((at for at, word in enumerate(clause.stated) if word in said.NEGATIONS), None)
        denied = next((word for word, at in clause.content.items() if denying is not None and at > denying), "")
        if denied in own and not others:
            return False
    for clause, other, force in zip(pair.clauses, pair.clauses[::-1], pair.forces, strict=True):
        if force in {"never", "not", "free", "optional"} and (
            clause.amounts - other.amounts or clause.days - other.days
        ):
            return False
    return True


def _is_other_day(pair: _Pair) -> bool:
    """Whether the same is said of another day; “never on Fridays” and “never on Mondays” agree, as “also” does."""
    signs = said.NEGATIONS | said.ALSO
    return pair.other_days and pair.is_strict and not any(clause.has(signs) for clause in pair.clauses)


def _is_opposed(pair: _Pair) -> bool:
    """Whether an opposite is said of the same thing, and neither denies it."""
    denied = [clause.has(said.NEGATIONS) for clause in pair.clauses]
    return pair.forces[0] == pair.forces[1] and denied[0] == denied[1] and pair.is_strict


def _unequal(here: Clause, there: Clause) -> tuple[list[str], bool]:
    """Return what two statements measure with other results, and whether they measure anything in common."""
    common = here.quantities.keys() & there.quantities.keys()
    if not common and len(here.quantities) == len(there.quantities) == 1:
        common = _bare(here, there)
        return [*common] if common and here.numbers != there.numbers else [], bool(common)
    names = [name for name in common if not _agree(name, here, there)]
    return sorted(names), bool(common)


def _bare(here: Clause, there: Clause) -> set[str]:
    """Return what both measure where one of them names no unit: “is 88 characters”, “is 120”."""
    units = here.quantities.keys() | there.quantities.keys()
    return units - {"#"} if "#" in units and not units & _UNITS else set()


def _agree(name: str, here: Clause, there: Clause) -> bool:
    for one, other in product(here.quantities[name], there.quantities[name]):
        if abs(one - other) <= TOLERANCE * max(abs(one), abs(other)) * (name in {"seconds", "every", "bytes"}):
            return True
        # A password of 16 characters has at least 12.
        bounds = [(clause.has(said.AT_LEAST), clause.has(said.AT_MOST)) for clause in (here, there)]
        for (least, most), (value, bare), free in (
            (bounds[0], (other, one), not any(bounds[1])),
            (bounds[1], (one, other), not any(bounds[0])),
        ):
            if free and ((least and value >= bare) or (most and not least and value <= bare)):
                return True
        if name == "date" and one % 10_000 == other % 10_000 and min(one, other) < 10_000:
            return True
    return False


def _is_only(clause: Clause) -> bool:
    return clause.has(said.ALONE) or (clause.has(_NOBODY) and clause.has(said.UNLESS))


def _lets_others(pair: _Pair) -> bool:
    """Whether one lets others, or nobody at all, do what the other leaves to someone alone, or to one case."""
    for only, other, mine, theirs, force in (
        (*pair.clauses, *pair.own, pair.forces[1]),
        (*pair.clauses[::-1], *pair.own[::-1], pair.forces[0]),
    ):
        if not _is_only(only) or not pair.shared:
            continue
        if _is_only(other):
            first = [next(iter(clause.content)) in own for clause, own in ((only, mine), (other, theirs))]
            if mine and theirs and all(first) and len(mine) <= 2 and len(theirs) <= 2:
                return True
            continue
        if not _stand_together(only, mine):
            continue
        if force in {"never", "not"}:
            # “Members may not approve entries” agrees with “only curators may approve entries”.
            if mine and not theirs and force == "never":
                return True
            continue
        is_for_all = other.has(said.EVERYONE) or any(
            one in said.OPEN and following in said.FOR for one, following in pairwise(other.plain)
        )
        if mine and is_for_all and len(theirs) <= 2:
            return True
        is_for_more = other.has(said.ALSO | said.ADDING) and bool(theirs)
        is_by_others = bool(mine and theirs) and pair.common >= 2 and (
            _acts(other, theirs, pair.shared) or is_for_more
        )  # fmt: skip
        if not mine and not theirs and is_for_all and (only.quantities or only.days):
            return True
        if is_by_others or (not mine and is_for_more and len(pair.shared) >= 2):
            return True
    return False


def _acts(clause: Clause, own: set[str], shared: set[str]) -> bool:
    """Whether one of a statement's own words names who acts: it precedes the act."""
    places = [at for word, at in clause.content.items() if word in own]
    last = max(at for word, at in clause.content.items() if word in shared)
    return min(places) < last


def _stand_together(clause: Clause, words: set[str]) -> bool:
    """Whether these words stand side by side: they name one holder, or one case."""
    places = [number for number, word in enumerate(clause.content) if word in words]
    return not places or places[-1] - places[0] < len(places) <= MOST_VALUE_WORDS


def _excepts(pair: _Pair) -> bool:
    """Whether one has an exception to what the other says of all cases."""
    for general, special, own in ((*pair.clauses, pair.own[0]), (*pair.clauses[::-1], pair.own[1])):
        is_special = special.has(said.UNLESS) and not general.has(said.UNLESS)
        if is_special and general.has(said.ALWAYS) and not own and pair.shared and not pair.opposites:
            return True
    return False


def _is_other_value(pair: _Pair) -> bool:
    """Whether another value stands in the same place of the same statement."""
    # “The deputy of Ann is Ben” and “the deputy of Ben is Cem” are about two people.
    here, there = pair.clauses
    if here.subject and there.subject and (here.subject ^ there.subject) & here.names & there.names:
        return False
    if any(clause.denials or clause.has(said.ALSO) for clause in pair.clauses) or not pair.shared:
        return False
    if not all(own and _is_one_value(clause, own) for clause, own in zip(pair.clauses, pair.own, strict=True)):
        return False
    spread = zip(pair.clauses, pair.own, strict=True)
    if any(sum(word.stem in own for word in clause.words) > len(own) for clause, own in spread):
        return False
    groups = [{_GROUP_OF[word] for word in own if word in _GROUP_OF} for own in pair.own]
    is_many = any(clause.has(said.MANY) for clause in pair.clauses)
    is_first = any(clause.starts_with(own) for clause, own in zip(pair.clauses, pair.own, strict=True))
    if groups[0] & groups[1] and not is_many and not is_first:
        return True
    if is_many or len(pair.own[0]) > MOST_VALUE_WORDS:
        return False
    are_names = [
        own <= clause.names or _starts_with_name(clause, own)
        for clause, own in zip(pair.clauses, pair.own, strict=True)
    ]
    if all(are_names) and (pair.shared & _ROLES or (pair.shared & _OWNING and is_first)):
        return len(pair.shared) >= 2
    if is_first:
        return False
    frames = [_frame_before(clause, own) for clause, own in zip(pair.clauses, pair.own, strict=True)]
    verb, place = frames[0]
    # “The editor is Vim”, “we use Emacs as the editor”.
    is_used_as = any(one in _BEING and other in _USING for (one, _), (other, _) in (frames, frames[::-1]))
    if is_used_as and all(are_names) and len(pair.shared) >= 2:
        return True
    if not place and verb not in _DIRECT:
        return False
    is_there = all(frame[0] in _BEING and frame[1] == place for frame in frames)
    if is_there and all(are_names) and not (set(place.split()) & {"with", "mit", "avec", "con", "by"}):
        return True
    is_held = verb in _HOLDING or (place and all(stem(clause.plain[0]) in _HOLDING for clause in pair.clauses))
    is_framed = frames[0] == frames[1] and is_held and are_names[0] == are_names[1]
    return is_framed or (
        all(are_names) and all(_holds_one(clause, own) for clause, own in zip(pair.clauses, pair.own, strict=True))
    )


def _frame_before(clause: Clause, value: set[str]) -> tuple[str, str]:
    """Return the verb before a value, and the preposition between the two, if one stands there."""
    at = min(clause.content[word] for word in value) - 1
    while at >= 0 and clause.plain[at] in _ARTICLES:
        at -= 1
    # “Owned by team Falcon”: what sort of thing the value is stands between.
    if at > 0 and clause.words[at].stem in clause.content and clause.plain[at - 1] in _PLACES:
        at -= 1
    place = clause.plain[at] if at >= 0 and clause.plain[at] in _PLACES else ""
    at -= bool(place)
    return (clause.words[at].stem, place) if at >= 0 else ("", "")


def _is_one_value(clause: Clause, words: set[str]) -> bool:
    """Whether these words are one value: “use ruff to format” has two."""
    places = [clause.content[word] for word in words]
    return _stand_together(clause, words) and {*clause.plain[min(places) : max(places)]}.isdisjoint(_PLACES | _PURPOSE)


def _starts_with_name(clause: Clause, words: set[str]) -> bool:
    """Whether these words begin a statement with a capital: a name, perhaps."""
    return all(clause.words[clause.content[word]].raw[:1].isupper() for word in words)


def _holds_one(clause: Clause, value: set[str]) -> bool:
    """Whether what stands before a value can have one at a time: one lives in one place, but speaks many languages."""
    first = min(clause.content[word] for word in value)
    before = clause.plain[max(0, first - 3) : first]
    verbs = {stem(word) for word in clause.plain[:first]} & _HOLDING
    return bool(verbs) and not _PLACES.isdisjoint(before)


def _is_swapped(pair: _Pair) -> bool:
    """Whether both prefer one of the same two things, and not the same one."""
    here, there = pair.clauses
    orders = [[word for word in clause.content if word in pair.shared] for clause in pair.clauses]
    is_choice = here.has(said.PREFERRING) and there.has(said.PREFERRING)
    return is_choice and not any(pair.own) and len(orders[0]) >= 2 and orders[0][-2:] == orders[1][-2:][::-1]


def _is_changed(pair: _Pair) -> bool:
    """Whether one says what is so now, and the other something else: “works from Vienna”, “moved to Graz”."""
    says = any(clause.has(said.CHANGED) for clause in pair.clauses)
    here, there = pair.clauses
    is_same = here.subject <= there.content.keys() and there.subject <= here.content.keys()
    # “The deploy day moved to Thursday” has no other tool than “we deploy with Nomad”: it has another day.
    return says and is_same and len(pair.shared) >= 2 and all(own - _CHANGED for own in pair.own)


_read_new = lru_cache(maxsize=1)(read_statements)
"""Cached, because a new text is compared with several stored ones. One and no more: what a user erases must not stay in
the process."""

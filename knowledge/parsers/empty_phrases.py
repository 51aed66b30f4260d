"""What says nothing: “Blockers: None”, “Files touched: 9”, rows of dashes. It is left out of what is read, and counted.

The words decide: a statement says nothing if all of them are among those with which people fill in a form that has no
answer, and one of these says so. A number says nothing beside a name of what is only counted.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest

from bigmind.text.hygiene import one_line
from knowledge.parsers.outline import words_of

SHORT_WORDS = 14
LABEL_WORDS = 5
SHOWN_CHARS = 80
_SAYS_NOTHING = """
none nothing nil null na no not nobody nowhere empty tbd tba todo wip keine keiner kein nichts aucun aucune rien ninguno
ninguna nada nenhum done pass passes passed passing ok okay fine complete completed success successful successfully yes
approved merged closed green clean smooth smoothly above below
"""
_MAY_STAND_BESIDE = """
blocker blockers blocked issue issues problem problems lesson lessons learning learnings learned surprise surprises time
sink sinks note notes comment comments finding findings error errors warning warnings failure failures deviation
deviations rework question questions concern concerns action actions item items change changes recommendation
recommendations discovery discoveries reuse risk risks incident incidents regression regressions follow up ups needed
the a an of for to at in on so far this that these it sprint story week beyond else all any really noted found hit
reported identified encountered observed known here yet today worth mentioning mention report add comes came mind
applicable available required was were is are there we had have everything went well see other than which
implementation signed off by status qa dev pm with and as expected planned major significant notable new special real
"""
_IS_CHECKED = """
run runs check checks test tests build lint type typecheck ci pipeline suite gate review
"""
_COUNTED = """
file files touched line lines changed loc added removed modified deleted written test tests token tokens input output in
out total cost costs usd story stories point points review reviews round rounds duration effort estimate estimated
actual hour hours minute minutes day days spent time commit commits pr prs ac acs coverage iteration iterations phase
phases session sessions agent agents call calls metric metrics value count number size complexity priority severity
status date started finished completed created updated sprint version step high low medium small large most least
expensive highest lowest average planned
"""
_ABOUT_THE_PAPER = """
author authors reviewer reviewers participants attendees facilitator moderator scribe signed jira ticket branch kudos
thanks teilnehmer
"""
_NAMES_A_ROW = """
id no nr number date category type owner assignee responsible due status priority ticket reference ref who when
"""
_AFTER_AN_AMOUNT = """
k m s ms h hr hrs hour hours min mins minute minutes sec secs second seconds d day days week weeks kb mb gb px usd eur
loc pts sp x ca approx about modify modified create created new delete deleted update updated add added remove removed
"""
_NOTHING, _BESIDE, _CHECKED, _OF_COUNTS, _OF_PAPER, _UNITS, _OF_A_ROW = (
    frozenset(words.split())
    for words in (
        _SAYS_NOTHING,
        _MAY_STAND_BESIDE,
        _IS_CHECKED,
        _COUNTED,
        _ABOUT_THE_PAPER,
        _AFTER_AN_AMOUNT,
        _NAMES_A_ROW,
    )
)
_ROLES = frozenset(("pm", "dev", "qa", "elab", "ui", "ux", "backend", "frontend", "total"))
_WORD = re.compile(r"[^\W\d_]{1,60}")
_AMOUNT = re.compile(r"[~≈<>=±+\-$€£%#/.,:;x×()\d\s]{0,200}")
_LABEL = re.compile(r"(?P<label>[^:|]{1,60}):(?:\s|\Z)(?P<value>.*)", re.DOTALL)
_LABELS = re.compile(
    r"(?=\*\*[^*\n]{1,60}:\*\*|\*\*[^*\n]{1,60}\*\*:)|(?<=\s)(?=[A-Z][A-Za-z]{1,30}(?: [a-z]{1,20})?:\s)"
)
# “None - all files matched the plan”: what follows only says it again, unless it takes something back.
_NOTHING_MORE = re.compile(
    r"[*_(]{0,3}(?:none|nothing|n/a|nil|nobody)\b[*_.)]{0,3}(?:\s?[-–—:;,(]|\s*\Z)", re.IGNORECASE
)
_TAKEN_BACK = re.compile(
    r"\b(?:but|except|however|although|though|only|unless|until|yet|must|should|never|always)\b", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"[A-Z]{2,10}-\d{1,7}")

_left_out: ContextVar[list[str] | None] = ContextVar("left_out", default=None)


@contextmanager
def collect_left_out() -> Iterator[list[str]]:
    """Yield the beginnings of the statements that are left out within, as they come."""
    found: list[str] = []
    token = _left_out.set(found)
    try:
        yield found
    finally:
        _left_out.reset(token)


def leave_out(text: str) -> None:
    """Count a statement that is left out."""
    if (found := _left_out.get()) is not None and text.strip():
        found.append(one_line(text)[:SHOWN_CHARS])


def says_nothing(text: str) -> bool:
    """Whether a statement tells nobody anything: no words, “none so far”, “Lint: PASS”, a number of what is counted."""
    if ":" in text and len(parts := [part for part in _LABELS.split(text[:4_000]) if part.strip()]) > 1:
        return all(says_nothing(part) for part in parts)
    plain = words_of(text[:4_000]).strip(" *_.()[]")
    words = [word.casefold() for word in _WORD.findall(plain)]
    if not words or (plain.startswith("~~") and plain.endswith("~~")):
        return True
    if _NOTHING_MORE.match(plain) and not _TAKEN_BACK.search(plain):
        return True
    if len(words) > SHORT_WORDS or "`" in text:
        return False
    if (labelled := _LABEL.fullmatch(plain)) and len(label := _words(labelled["label"])) <= LABEL_WORDS:
        value = labelled["value"].strip()
        if (
            _is_empty(value)
            or (_NOTHING_MORE.match(value) and not _TAKEN_BACK.search(value))
            or (label and set(label) <= _OF_COUNTS | _ROLES and _is_amount(value))
        ):
            return True
        if set(label) & _OF_PAPER:
            return True
    return _is_empty(plain)


def row_says_nothing(headings: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether a row of a table tells nobody anything: dashes, or names of what is counted and how many there were."""
    named = dict(zip_longest(headings, cells[: len(headings)], fillvalue=""))
    filled = [cell for cell in cells if not _is_empty(words_of(cell))]
    if any(not _names_row(heading) for heading in named):
        # A number, a date and an owner alone are a row that nobody filled in.
        filled = [cell for heading, cell in named.items() if cell in filled and not _names_row(heading)]
    counts = set(_words(" ".join(headings))) <= _OF_COUNTS | _ROLES
    return not filled or (
        counts and all(_is_amount(cell) or set(_words(cell)) <= _OF_COUNTS | _ROLES for cell in filled)
    )


def _names_row(heading: str) -> bool:
    words = set(_words(heading))
    return bool(words) and words <= _OF_A_ROW


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text[:200])]


def _is_empty(text: str) -> bool:
    """Whether a text has no words, or only those that say that there is nothing to say."""
    words = set(_words(text))
    if _is_amount(text):
        return not words and not any(char.isdigit() for char in text)
    joined = {*words, "na"} if text.casefold().replace(" ", "").startswith(("n/a", "n.a")) else words
    rest = joined - {"n", "a"} if "na" in joined else joined
    if rest & _CHECKED and rest & {"no", "not"}:
        return False  # “No tests, no review” says something.
    return not rest or (rest <= _NOTHING | _BESIDE | _CHECKED and bool(rest & _NOTHING))


def _is_amount(text: str) -> bool:
    """Whether a text is a number with its unit, a date or an identifier of a ticket, and no more."""
    text = _IDENTIFIER.sub("", text[:200])
    words = set(_words(text))
    return words <= _UNITS and bool(_AMOUNT.fullmatch(_WORD.sub("", text[:200])))

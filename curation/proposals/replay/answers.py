"""Answers past questions again, in two worlds of company knowledge, and compares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bigmind.text.token_counts import count_tokens
from knowledge.capture.recall import HEADING, PROMPT_TOKENS, SHOWN, is_elsewhere, worth_sending
from knowledge.models import AskedForm, Kind
from knowledge.recall.hits import NEAREST
from knowledge.recall.recall import COMPANY_GROUP, GROUPS, join_groups, nearest, take_turns
from knowledge.search.abstention import is_answered
from knowledge.search.findings import Finding, Findings

from .passages import CompanyPassage, PassageIndex, Scores
from .questions import Asked, ReplayedQuestion, make_finding
from .ranking import find_near, rank_entries, score_keywords, score_meaning

AT_ONCE = 500
"""Questions whose scores are held in memory together."""

Told = tuple[int, ...]


@dataclass(frozen=True)
class ChangedAnswer:
    """A question whose answer names other company entries in the world after, or the same ones in another order."""

    asked: Asked
    before: Told
    after: Told

    @property
    def entering(self) -> list[int]:
        """The entries that only the answer after names."""
        return [entry for entry in self.after if entry not in self.before]

    @property
    def leaving(self) -> list[int]:
        """The entries that only the answer before names."""
        return [entry for entry in self.before if entry not in self.after]


def replay(questions: Sequence[Asked], passages: Sequence[CompanyPassage], *, dimensions: int) -> list[ChangedAnswer]:
    """Return the questions whose answers differ between the world before and the world after.

    Args:
        passages: Those of both worlds, each marked with where it is there.
        dimensions: The length of a vector.
    """
    if not questions or all(one.before == one.after for one in passages):
        return []
    index = PassageIndex.of(passages, dimensions, max(map(_bytes_each, questions)))
    changed = []
    for start in range(0, len(questions), AT_ONCE):
        chunk = [ReplayedQuestion(one, index) for one in questions[start : start + AT_ONCE]]
        cosines = score_meaning(chunk, index)
        keywords = score_keywords(chunk, index)
        for number in find_near(chunk, cosines, keywords, index):
            words = keywords[0][number], keywords[1][number]
            before, after = _answer(chunk[number], cosines[number], words, index)
            if before != after:
                changed.append(ChangedAnswer(chunk[number].asked, before, after))
    return changed


def _bytes_each(question: Asked) -> int:
    """Return how many bytes the signs of a token have; 0 where the question has none."""
    return len(question.tokens) // len(question.outline["places"]) if question.tokens else 0


def _answer(
    question: ReplayedQuestion, cosines: Scores, keywords: tuple[Scores, Scores], index: PassageIndex
) -> tuple[Told, Told]:
    """Return the company entries that the answer names in each world, in order; none where the worlds rank alike."""
    ranked = rank_entries(question, cosines, keywords, index)
    if ranked[0] == ranked[1] and not question.words_change:
        return (), ()
    before, after = (
        [_finding(question, row, score, cosines, keyword, index) for row, score in one]
        for one, keyword in zip(ranked, keywords, strict=True)
    )
    return _compose(question, before, 0), _compose(question, after, 1)


def _compose(question: ReplayedQuestion, company: list[Finding], world: int) -> Told:
    names = _COMPOSE[question.asked.how](question, company, world)
    return tuple(int(item.source_id) for item in names if item.kind == Kind.COMPANY)


def _finding(
    question: ReplayedQuestion, row: int, score: float, cosines: Scores, keyword: Scores, index: PassageIndex
) -> Finding:
    passage, share = index.passages[row], float(keyword[row])
    near = float(cosines[row]) if index.has_vector[row] else None
    matched = question.matches(row)
    id = str(passage.entry_id)
    return make_finding("company", id, score, share or None, near, matched, passage.project, passage.text)


def _compose_recall(question: ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    found: list[list[Finding]] = [[] for _ in GROUPS]
    for group, _, item in question.others(world):
        found[group].append(item)
    found[COMPANY_GROUP] = company
    outline = question.asked.outline
    own = dict(zip(question.terms, question.weights[world], strict=True))
    beside = outline.get("total", 0)
    groups = [
        Findings(
            items,
            len(items) if number == COMPANY_GROUP else beside * (number == 0),
            fallback=False,
            weights=weights,
            missing=missing,
            text=question.asked.text,
        )
        for number, items in enumerate(found)
        for weights, missing in [
            (own, question.missing(world))
            if number == COMPANY_GROUP
            else (outline["weights"], frozenset(outline["missing"]))
        ]
    ]
    everything = join_groups(groups)
    if is_answered(everything):
        return take_turns(groups, question.asked.project)[: question.limit]
    return nearest(everything.items, question.asked.project)[: min(NEAREST, question.limit)]


def _compose_company(question: ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    return company


def _compose_search(question: ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    return [item for _, item in _merge(question, company, world)]


def _compose_prompt(question: ReplayedQuestion, company: list[Finding], world: int) -> list[Finding]:
    """Return what is sent before a prompt: what may answer, of other projects last, as far as it fits."""
    merged, outline = _merge(question, company, world), question.asked.outline
    found = Findings(
        [item for _, item in merged],
        outline.get("total", len(merged)),
        fallback=False,
        weights=dict(zip(question.terms, question.weights[world], strict=True)),
        missing=question.missing(world),
        text=question.asked.text,
    )
    sent = worth_sending(found, is_known=is_answered(found))
    answering = [(cost, item) for cost, item in merged if item in sent]
    answering.sort(key=lambda one: is_elsewhere(one[1].project, question.asked.project))
    left, shown = PROMPT_TOKENS - count_tokens(f"{HEADING}\n"), list[Finding]()
    for cost, item in answering:
        if cost <= left and len(shown) < SHOWN:
            shown.append(item)
            left -= cost
    return shown


def _merge(question: ReplayedQuestion, company: list[Finding], world: int) -> list[tuple[int, Finding]]:
    """Return what one search found, company knowledge among the others by its score."""
    others = [(cost, item) for _, cost, item in question.others(world)]
    priced = [(question.index.price(item.text), item) for item in company]
    return sorted([*others, *priced], key=lambda one: -one[1].score)[: question.limit]


_COMPOSE: dict[str, Callable[[ReplayedQuestion, list[Finding], int], list[Finding]]] = {
    AskedForm.RECALL: _compose_recall,
    AskedForm.COMPANY: _compose_company,
    AskedForm.SEARCH: _compose_search,
    AskedForm.PROMPT: _compose_prompt,
}

"""What a decision changes: how long it takes to foresee, and how well that agrees with what is served afterwards.

Half of the corpus of retrieval is company knowledge, the rest is one person's memory. Every question is asked in four
ways, a decision is tried and then made, and every question is asked again.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import chain

from django.db import connection

from accounts.actor import Actor
from accounts.models import Role
from accounts.services.agents import note_agent
from benchmarks.retrieval.beir import OURS, Corpus, Document, read_corpus
from benchmarks.retrieval.memory import remember
from benchmarks.rows import milliseconds, row
from bigmind.core.errors import BigMindError
from curation.decisions.deciding import approve_global
from curation.proposals.decision_trials import Action, try_decision
from curation.proposals.proposals import promote_to_global
from knowledge.capture.recall import recall_for
from knowledge.indexing.embedding import embed_pending
from knowledge.kb.company import search_global
from knowledge.models import AskedForm, CompanyEntry, Conversation
from knowledge.recall.recall import recall
from knowledge.recall.semantic_search import semantic_search

ASKED, DECIDED, REPLAYED = 50, 12, 10_000
LEAST, MOST_SECONDS = 0.98, 5.0

Told = tuple[int, ...]
Answers = dict[tuple[str, str], Told]

_COPY = """
INSERT INTO knowledge_askedquestion
    (user_id, how, project, text, digest, times, asked_at, space_id, vector, tokens, outline)
SELECT user_id, how, project, text, md5(digest || copy), times, asked_at, space_id, vector, tokens, outline
FROM knowledge_askedquestion, generate_series(1, %s) AS copy
"""


def measure() -> list[str]:
    """Return the rows of the table."""
    corpus = read_corpus(OURS)
    shared = [one for number, one in enumerate(corpus.documents) if number % 2 and one.metadata.get("kind") != "chunk"]
    own = [one for one in corpus.documents if one not in shared]
    user = remember(Corpus("decisions", own, corpus.questions)).user
    user.role = Role.CURATOR
    user.save(update_fields=["role"])
    agent = Actor.of(user, agent=note_agent(user, client_name="claude-code", client_version="1.0", host="bench"))
    entries = [entry for one in shared if (entry := _approve(agent, one))]
    embed_pending()
    questions = [one.text for one in corpus.questions[:: max(1, len(corpus.questions) // ASKED)]][:ASKED]
    foreseen, came, both = _compare(agent, questions, entries)
    seconds = _time_replays(entries)
    precision, recalled = both / max(1, foreseen), both / max(1, came)
    what = f"{DECIDED} decisions, {4 * len(questions)} answers each, {came} changed"
    return [
        row("precision of what is foreseen", f"{precision:.3f}", f"≥ {LEAST}", what, met=precision >= LEAST),
        row("recall of what is foreseen", f"{recalled:.3f}", f"≥ {LEAST}", what, met=recalled >= LEAST),
        row(
            f"a decision tried on {REPLAYED:,} questions",
            f"{seconds:.1f} s",
            f"≤ {MOST_SECONDS:.0f} s",
            f"slowest of {DECIDED}, each the median of 3, {len(entries)} entries",
            met=seconds <= MOST_SECONDS,
        ),
    ]


def _approve(agent: Actor, document: Document) -> CompanyEntry | None:
    """Propose a document, which one person alone approves by that; None for what the product refuses."""
    title = " ".join(document.text.split()[:9])[:80]
    try:
        return promote_to_global(agent, category="standard", title=title, content=document.text).entry
    except BigMindError:
        return None


def _compare(agent: Actor, questions: list[str], entries: list[CompanyEntry]) -> tuple[int, int, int]:
    """Return how many changes of answers were foreseen, how many came, and how many were both, to the same answer."""
    before, numbers = _ask(agent, questions), [0, 0, 0]
    for number, entry in enumerate(_choose_told(entries, before)):
        for action in ("edit" if number % 3 == 1 else "deprecate", "deprecate" if number % 3 == 1 else "restore"):
            edits = {"content": f"{entries[number].content} {entry.content}"[:1_500]} if action == "edit" else {}
            entry.refresh_from_db()
            trial = try_decision([entry], action, edits=edits)
            _decide(agent, entry, action, edits)
            after = _ask(agent, questions)
            came = {(*key, told, after[key]) for key, told in before.items() if told != after[key]}
            changes = [(one.asked, one.before, one.after) for one in trial.answers]
            foreseen = {(asked.how, asked.text, old, new) for asked, old, new in changes}
            for place, many in enumerate((len(foreseen), len(came), len(foreseen & came))):
                numbers[place] += many
            before = after
    return numbers[0], numbers[1], numbers[2]


def _choose_told(entries: list[CompanyEntry], answers: Answers) -> list[CompanyEntry]:
    """Return some entries, from the one that answers name most often to one that they name now and then."""
    told = [entry for entry, _ in Counter(chain.from_iterable(answers.values())).most_common()]
    by_id = {entry.pk: entry for entry in entries}
    return [by_id[one] for one in told[:: max(1, len(told) // DECIDED)][: DECIDED // 2]]


def _decide(agent: Actor, entry: CompanyEntry, action: Action, edits: dict[str, str]) -> None:
    despite: list[int] = []
    while True:
        try:
            approve_global(
                agent,
                entry_id=entry.pk,
                action=action,
                revision=entry.revision,
                despite=despite,
                notes="Bench.",
                content=edits.get("content"),
            )
        except BigMindError as refusal:
            more = [one for one in refusal.details.get("despite", ()) if one not in despite]
            if not more:
                raise
            despite += more
        else:
            embed_pending()
            return


def _ask(agent: Actor, questions: list[str]) -> Answers:
    """Ask every question in each way, and return the company entries that each answer names."""
    conversation = Conversation(user=agent.user, client="claude-code", client_id="bench", digest="bench")
    ways: dict[str, Callable[[str], Told]] = {
        AskedForm.RECALL: lambda text: _company(recall(agent, query=text).items),
        AskedForm.SEARCH: lambda text: _company(semantic_search(agent, query=text).items),
        AskedForm.COMPANY: lambda text: tuple(hit.entry.pk for hit in search_global(agent, query=text).items),
        AskedForm.PROMPT: lambda text: _company(
            recall_for(agent, text, conversation=conversation, told=set(), keeps=True)
        ),
    }
    return {(str(how), text): ask(text) for text in questions for how, ask in ways.items()}


def _company(found: list) -> Told:  # type: ignore[type-arg]
    return tuple(int(one.id) for one in found if one.kind == "company")


def _time_replays(entries: list[CompanyEntry]) -> float:
    """Return the seconds of the slowest of some decisions, each tried three times on REPLAYED questions."""
    entries = list(CompanyEntry.objects.approved().filter(pk__in=[entry.pk for entry in entries]).order_by("pk"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM knowledge_askedquestion WHERE how <> 'start'")
        cursor.execute(_COPY, [REPLAYED // max(1, cursor.fetchone()[0])])
    tried = entries[:: len(entries) // DECIDED][:DECIDED]
    return max(milliseconds(partial(try_decision, [entry], "deprecate"), times=3) for entry in tried) / 1000

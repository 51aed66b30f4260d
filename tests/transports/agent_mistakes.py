"""What agents get wrong when they call a tool, what they mean by it, and what becomes of it.

Each was seen in a client, or is what a model writes that knows other memories and not this one. `docs/forgiving.md` is
this table, and `test_agent_mistakes.py` makes each mistake, and some of them over a real client.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Ids = dict[str, Any]
Call = tuple[str, dict[str, Any]]

FORGIVEN: Literal["forgiven"] = "forgiven"
REPAIRED: Literal["repaired"] = "repaired"
REFUSED: Literal["refused"] = "refused"


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        about: What is wrong, in words, with an example.
        outcome: `forgiven`: it has the effect of what is meant, and nothing else. `repaired`: it has none, and the
            refusal has the call that is meant, word for word. `refused`: only the caller can know what is meant.
        sent: The tool and its arguments, as the agent sends them.
        meant: The tool and its arguments, as they should be; of what is refused, what the refusal says.
    """

    about: str
    outcome: Literal["forgiven", "repaired", "refused"]
    sent: Callable[[Ids], Call]
    meant: Callable[[Ids], Call] | str


STORE, RECALL, END = "memory_store_fact", "memory_recall", "memory_end_session"
FACT = {"category": "preference", "fact": "Prefers tabs to spaces."}


def _store(**arguments: Any) -> Call:
    return STORE, {**FACT, **arguments}


def _recall(**arguments: Any) -> Call:
    return RECALL, {"query": "what colour is the bicycle?", **arguments}


def _end(**arguments: Any) -> Call:
    return END, {"one_liner": "Chose a database", **arguments}


def _gone(fact_id: Any) -> Call:
    return "memory_deprecate_fact", {"fact_id": fact_id, "reason": "It changed."}


MISTAKES = (
    Mistake(
        "`null` for an argument that may be left out",
        FORGIVEN,
        lambda ids: _store(project=None, confidence=None),
        lambda ids: _store(),
    ),
    Mistake(
        'an empty text for a choice that may be left out: `category: ""`',
        FORGIVEN,
        lambda ids: ("memory_list_facts", {"category": ""}),
        lambda ids: ("memory_list_facts", {}),
    ),
    Mistake(
        'the word null for a date: `since: "null"`', FORGIVEN, lambda ids: _recall(since="null"), lambda ids: _recall()
    ),
    Mistake(
        'the JSON text of a list: `topics: "[\\"a\\", \\"b, c\\"]"`',
        FORGIVEN,
        lambda ids: _end(topics='["a", "b, c"]'),
        lambda ids: _end(topics=["a", "b, c"]),
    ),
    Mistake(
        "the JSON text of a list inside a list",
        FORGIVEN,
        lambda ids: _end(topics=['["a", "b, c"]']),
        lambda ids: _end(topics=["a", "b, c"]),
    ),
    Mistake(
        "the JSON text of a list on several lines",
        FORGIVEN,
        lambda ids: _end(key_facts='[\n  "One, two",\n  "Three"\n]'),
        lambda ids: _end(key_facts=["One, two", "Three"]),
    ),
    Mistake(
        'a list as bullets: `key_facts: "- One\\n- Two"`',
        FORGIVEN,
        lambda ids: _end(key_facts="- One\n- Two"),
        lambda ids: _end(key_facts=["One", "Two"]),
    ),
    Mistake(
        'a list of names as words with commas: `topics: "a, b"`',
        FORGIVEN,
        lambda ids: _end(topics="a, b"),
        lambda ids: _end(topics=["a", "b"]),
    ),
    Mistake(
        'one thing where a list is asked for: `used: "F1"`',
        FORGIVEN,
        lambda ids: _end(used=f"F{ids['fact']}"),
        lambda ids: _end(used=[f"F{ids['fact']}"]),
    ),
    Mistake(
        'a choice in capitals: `category: "Preference"`',
        FORGIVEN,
        lambda ids: _store(category="Preference"),
        lambda ids: _store(),
    ),
    Mistake(
        'a choice in the plural: `category: "preferences"`',
        FORGIVEN,
        lambda ids: _store(category="preferences"),
        lambda ids: _store(),
    ),
    Mistake(
        'a handle for an id: `fact_id: "F12"`',
        FORGIVEN,
        lambda ids: _gone(f"F{ids['fact']}"),
        lambda ids: _gone(ids["fact"]),
    ),
    Mistake(
        'kind and id: `fact_id: "fact:12"`',
        FORGIVEN,
        lambda ids: _gone(f"fact:{ids['fact']}"),
        lambda ids: _gone(ids["fact"]),
    ),
    Mistake(
        'kind and id in words: `fact_id: "fact 12"`',
        FORGIVEN,
        lambda ids: _gone(f"fact {ids['fact']}"),
        lambda ids: _gone(ids["fact"]),
    ),
    Mistake(
        'an id with a number sign: `fact_id: "#12"`',
        FORGIVEN,
        lambda ids: _gone(f"#{ids['fact']}"),
        lambda ids: _gone(ids["fact"]),
    ),
    Mistake(
        'a handle in the brackets that it is shown in: `fact_id: "[F12]"`',
        FORGIVEN,
        lambda ids: _gone(f"[F{ids['fact']}]"),
        lambda ids: _gone(ids["fact"]),
    ),
    Mistake(
        "`id` for the one id that is asked for",
        FORGIVEN,
        lambda ids: ("memory_deprecate_fact", {"id": str(ids["fact"]), "reason": "It changed."}),
        lambda ids: _gone(ids["fact"]),
    ),
    Mistake(
        'no kind beside a handle that says it: `id: "F12"`',
        FORGIVEN,
        lambda ids: ("memory_feedback", {"id": f"F{ids['fact']}", "verdict": "useful"}),
        lambda ids: ("memory_feedback", {"kind": "fact", "id": str(ids["fact"]), "verdict": "useful"}),
    ),
    Mistake(
        'kind and id of a session: `session_id: "session:1e9e32c7"`',
        FORGIVEN,
        lambda ids: ("memory_get_session_detail", {"session_id": f"session:{ids['session'][:8]}"}),
        lambda ids: ("memory_get_session_detail", {"session_id": ids["session"]}),
    ),
    Mistake(
        'a word for the session of this conversation: `session_id: "current"`',
        FORGIVEN,
        lambda ids: _end(session_id="current"),
        lambda ids: _end(),
    ),
    Mistake(
        'a day in words: `since: "yesterday"`',
        FORGIVEN,
        lambda ids: _recall(since="yesterday"),
        lambda ids: _recall(since=ids["yesterday"]),
    ),
    Mistake(
        'so long ago: `since: "3 days ago"`',
        FORGIVEN,
        lambda ids: _recall(since="3 days ago"),
        lambda ids: _recall(since=ids["yesterday"]),
    ),
    Mistake(
        'a week in words: `since: "last week"`',
        FORGIVEN,
        lambda ids: _recall(since="last week"),
        lambda ids: _recall(since=ids["yesterday"]),
    ),
    Mistake(
        'a weekday in words: `since: "last tuesday"`',
        FORGIVEN,
        lambda ids: _recall(since="last tuesday"),
        lambda ids: _recall(since=ids["yesterday"]),
    ),
    Mistake(
        'a month: `before: "2026-05"`',
        FORGIVEN,
        lambda ids: _recall(before="2026-05"),
        lambda ids: _recall(before="2026-05-01T00:00:00Z"),
    ),
    Mistake(
        'a month in words: `before: "May 2026"`',
        FORGIVEN,
        lambda ids: _recall(before="May 2026"),
        lambda ids: _recall(before="2026-05-01T00:00:00Z"),
    ),
    Mistake(
        "`until` for the last day that is meant",
        FORGIVEN,
        lambda ids: _recall(until="yesterday"),
        lambda ids: _recall(before=ids["today"]),
    ),
    Mistake(
        'a number as text: `confidence: "0.9"`',
        FORGIVEN,
        lambda ids: _store(confidence="0.9"),
        lambda ids: _store(confidence=0.9),
    ),
    Mistake(
        'a whole number as text: `importance: "8"`',
        FORGIVEN,
        lambda ids: _end(importance="8"),
        lambda ids: _end(importance=8),
    ),
    Mistake(
        'true as text: `include_deprecated: "True"`',
        FORGIVEN,
        lambda ids: ("memory_list_facts", {"include_deprecated": "True"}),
        lambda ids: ("memory_list_facts", {"include_deprecated": True}),
    ),
    Mistake(
        "the manner of another language: `oneLiner`, `codeRefs`",
        FORGIVEN,
        lambda ids: (END, {"oneLiner": "Chose a database", "codeRefs": ["db.py"]}),
        lambda ids: _end(code_refs=["db.py"]),
    ),
    Mistake(
        "another memory's name for an argument: `question` for `query`",
        FORGIVEN,
        lambda ids: (RECALL, {"question": "what colour is the bicycle?"}),
        lambda ids: _recall(),
    ),
    Mistake(
        "`content` for `fact`",
        FORGIVEN,
        lambda ids: (STORE, {"category": "preference", "content": FACT["fact"]}),
        lambda ids: _store(),
    ),
    Mistake(
        "`tags` for `topics`", FORGIVEN, lambda ids: _end(tags=["postgres"]), lambda ids: _end(topics=["postgres"])
    ),
    Mistake("`top_k` for `limit`", FORGIVEN, lambda ids: _recall(top_k="3"), lambda ids: _recall(limit=3)),
    Mistake(
        'all arguments inside one: `{"arguments": {…}}`',
        FORGIVEN,
        lambda ids: (STORE, {"arguments": FACT}),
        lambda ids: _store(),
    ),
    Mistake(
        "the client's prefix in a name: `mcp__bigmind__memory_recall`",
        FORGIVEN,
        lambda ids: ("mcp__bigmind__memory_recall", _recall()[1]),
        lambda ids: _recall(),
    ),
    Mistake(
        "hyphens in a name: `memory-store-fact`",
        FORGIVEN,
        lambda ids: ("memory-store-fact", FACT),
        lambda ids: _store(),
    ),
    Mistake(
        "a made-up name that can only mean reading: `search_memory`",
        FORGIVEN,
        lambda ids: ("search_memory", {"query": "what colour is the bicycle?"}),
        lambda ids: _recall(),
    ),
    Mistake(
        "the arguments of another tool beside its name",
        FORGIVEN,
        lambda ids: ("memory_use_tool", {"tool": "knowledge_get", "domain": "email"}),
        lambda ids: ("knowledge_get", {"domain": "email"}),
    ),
    Mistake(
        "another tool under `name`, as MCP itself writes it",
        FORGIVEN,
        lambda ids: ("memory_use_tool", {"name": "knowledge_get", "arguments": {"domain": "email"}}),
        lambda ids: ("knowledge_get", {"domain": "email"}),
    ),
    Mistake(
        "the arguments of another tool as JSON text",
        FORGIVEN,
        lambda ids: ("memory_use_tool", {"tool": "knowledge_get", "arguments": '{"domain": "email"}'}),
        lambda ids: ("knowledge_get", {"domain": "email"}),
    ),
    Mistake(
        'one name with a comma in it is kept whole: `topics: ["Lisbon, Portugal"]`',
        FORGIVEN,
        lambda ids: _end(topics=["Lisbon, Portugal"]),
        lambda ids: _end(topics=["Lisbon, Portugal"]),
    ),
    Mistake(
        "a date in another order that can be only one day: `06/25/2026`",
        FORGIVEN,
        lambda ids: _recall(before="06/25/2026"),
        lambda ids: _recall(before="2026-06-25"),
    ),
    Mistake(
        'a blank text for whatever may be left out: `project: " "`',
        FORGIVEN,
        lambda ids: _store(project=" ", valid_until="", source_session=""),
        lambda ids: _store(),
    ),
    Mistake(
        "the caller's own id, which says nothing new: `user_id`",
        FORGIVEN,
        lambda ids: _store(user_id="default"),
        lambda ids: _store(),
    ),
    Mistake(
        "a list as another language writes it: `\"['a', 'b, c']\"`",
        FORGIVEN,
        lambda ids: _end(topics="['a', 'b, c']"),
        lambda ids: _end(topics=["a", "b, c"]),
    ),
    Mistake(
        'a number out of another: `importance: "8/10"`',
        FORGIVEN,
        lambda ids: _end(importance="8/10"),
        lambda ids: _end(importance=8),
    ),
    Mistake(
        'per cent: `confidence: "90%"`',
        FORGIVEN,
        lambda ids: _store(confidence="90%"),
        lambda ids: _store(confidence=0.9),
    ),
    Mistake(
        'a choice misspelt: `category: "prefrence"`',
        REPAIRED,
        lambda ids: _store(category="prefrence"),
        lambda ids: _store(),
    ),
    Mistake(
        "an argument misspelt: `confidance`",
        REPAIRED,
        lambda ids: _store(confidance=0.9),
        lambda ids: _store(confidence=0.9),
    ),
    Mistake(
        "a made-up name that means writing: `save_memory`",
        REPAIRED,
        lambda ids: ("save_memory", {"category": "Preference", "content": FACT["fact"]}),
        lambda ids: _store(),
    ),
    Mistake(
        "a limit that is too high: `limit: 5000`",
        REFUSED,
        lambda ids: _recall(limit=5000),
        "limit must be 200 or less",
    ),
    Mistake(
        "per cent without the sign, or of ten: `confidence: 8.5`",
        REFUSED,
        lambda ids: _store(confidence=8.5),
        "confidence must be 1 or less",
    ),
    Mistake(
        'the opposite of a choice: `verdict: "unuseful"`',
        REFUSED,
        lambda ids: ("memory_feedback", {"kind": "fact", "id": str(ids["fact"]), "verdict": "unuseful"}),
        "verdict must be one of: 'useful', 'wrong' or 'outdated'.",
    ),
    Mistake(
        "a date that may be two days: `05/06/2026`",
        REFUSED,
        lambda ids: _recall(before="05/06/2026"),
        "Send 2026-05-06 or 2026-06-05",
    ),
    Mistake(
        "a required argument left out",
        REFUSED,
        lambda ids: (STORE, {"fact": FACT["fact"]}),
        "category is required. category: one of preference, decision, codebase, constraint, identity.",
    ),
    Mistake(
        'a word for a number: `importance: "high"`',
        REFUSED,
        lambda ids: _end(importance="high"),
        "importance must be a whole number",
    ),
    Mistake(
        'the handle of another kind: `fact_id: "C12"`',
        REFUSED,
        lambda ids: _gone("C12"),
        "the handle of a company entry; a fact is meant",
    ),
    Mistake(
        "a made-up name that may mean anything: `search_web`",
        REFUSED,
        lambda ids: ("search_web", {"query": "tea"}),
        "Unknown tool: search_web",
    ),
)

"""The catalogue: everything BigMind can do, by name. What is not listed here is not exposed."""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.operations import OPERATIONS as ACCOUNTS
from bigmind.core.argument_conversion import NAMES_OF_TOOL
from bigmind.core.argument_types import Query
from bigmind.core.errors import Invalid, NotFound
from bigmind.core.operations import Effect, Operation
from bigmind.core.reply_shapes import reply_of
from bigmind.operation_search import FoundOperation, FoundOperations, rank_operations
from bigmind.text.hygiene import check_content, mention
from curation.operations import OPERATIONS as CURATION
from knowledge.operations import OPERATIONS as KNOWLEDGE

FOUND = 5

ToolName = Annotated[
    str,
    AfterValidator(check_content),
    Field(min_length=1, max_length=100, description="The tool to call."),
]


def use_tool(
    actor: Actor,
    *,
    find: Annotated[Query, Field(description="What you want to do.")] | None = None,
    tool: ToolName | None = None,
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] | None = None,
) -> FoundOperations:
    """Do anything else: notes, knowledge base, documentation, app maps, profile, hypotheses, erasing, export.

    Call it with `find`, then with `tool` and `arguments`. Returns matching tools, then their reply.
    """
    if tool is not None:
        raise _cannot_perform(actor, tool)
    if find is None:
        raise Invalid.of("find", "is required, unless tool says which one to perform")
    permitted = list(operations_for(actor, {"all"}))
    fitting = rank_operations(find, [one for one in permitted if not one.performs_others])[:FOUND]
    return FoundOperations([FoundOperation.of(operation) for operation in fitting])


def _cannot_perform(actor: Actor, name: str) -> Invalid | NotFound:
    """Return why a tool that was named is not performed here: the gate performs what there is for agents."""
    if known := find_operation(name):
        return Invalid.of("tool", f"is performed at its own route: {known.route}")
    permitted = [operation for operation in operations_for(actor, {"all"}) if not operation.performs_others]
    nearest = [operation.name for operation in rank_operations(name, permitted)[:3]]
    hint = f"The nearest: {', '.join(nearest)}." if nearest else "Ask with `find` and plain words."
    return NotFound(f"There is no tool {mention(name)}.", hint=hint)


USE_TOOL = Operation(
    name="memory_use_tool",
    title="Find and use any other tool",
    call=use_tool,
    shape=reply_of(FoundOperations),
    route="POST tools/",
    toolset="core",
    other_effect=Effect.READ,
    template="tools_found.md",
    performs_others=True,
)

CATALOGUE: dict[str, Operation] = {
    operation.name: operation for operation in (*KNOWLEDGE, *ACCOUNTS, *CURATION, USE_TOOL)
}

OTHER_NAMES: dict[str, str] = {
    **dict.fromkeys(("recall", "search", "find", "query", "ask", "lookup", "retrieve"), "memory_recall"),
    **dict.fromkeys(("remember", "store", "save", "add", "write", "memorize", "create"), "memory_store_fact"),
    **dict.fromkeys(("forget", "remove", "delete"), "memory_deprecate_fact"),
    **dict.fromkeys(("update", "edit", "fix"), "memory_correct_fact"),
    **dict.fromkeys(("start", "begin", "init"), "memory_start_session"),
    **dict.fromkeys(("end", "close", "finish"), "memory_end_session"),
}
"""What agents call an operation whose name they do not know, by the verb that they use."""
_OF_MEMORY = frozenset(
    "memory memories bigmind mind my fact facts it this all from to of the".split()  # noqa: SIM905
)
"""Words of such a name that say no more than that memory is meant."""


def operations_for(actor: Actor, toolsets: Collection[str] = ("core",)) -> Iterator[Operation]:
    """Yield what this actor may call, in the toolsets asked for; `all` means every toolset."""
    for operation in CATALOGUE.values():
        if operation.is_listed_in(toolsets) and may_call(actor, operation):
            yield operation


def may_call(actor: Actor, operation: Operation) -> bool:
    """Whether the key of an actor has the scope and a toolset of an operation."""
    return operation.scope in actor.scopes and actor.may_use(operation.toolsets)


def find_operation(name: str) -> Operation | None:
    """Return an operation by its name, as clients spell it: also `mcp__bigmind__memory_recall`."""
    return CATALOGUE.get(name.strip().rpartition("__")[2].replace("-", "_").lower())


def find_named(operation: Operation, arguments: Mapping[str, Any]) -> Operation | None:
    """Return the operation that a call names to be performed in its place, if any: `name` is read as `tool` is."""
    named = find_operation(arguments[sent]) if (sent := _argument_of_tool(operation, arguments)) else None
    return None if named is None or named.performs_others else named


def _argument_of_tool(operation: Operation, arguments: Mapping[str, Any]) -> str:
    """Return what a call names another operation by: `tool` if it is there, else another word for it; empty if none."""
    if not operation.performs_others:
        return ""
    sent = [name for name in NAMES_OF_TOOL if isinstance(arguments.get(name), str)]
    return next((name for name in sent if name == "tool" or find_operation(arguments[name])), "")


def operation_to_perform(operation: Operation, arguments: Mapping[str, Any]) -> tuple[Operation, dict[str, Any]]:
    """Return the operation that a call names to be performed in its place, with its arguments; else the call itself.

    Arguments beside `tool` are taken for those of the tool: agents send them flat as well.
    """
    sent = dict(arguments)
    target = find_named(operation, arguments)
    if target is None:
        return operation, sent
    inner = operation.forgive({"arguments": sent.get("arguments")}).get("arguments") or {}
    if not isinstance(inner, dict):
        return operation, sent
    own = {"arguments", "find", _argument_of_tool(operation, arguments)}
    return target, {**{name: value for name, value in sent.items() if name not in own}, **inner}


def nearest_names(name: str, known: Collection[str]) -> list[str]:
    """Return the operations that an unknown name was probably meant to be, the likeliest first: at most three."""
    by_verb = [OTHER_NAMES[word] for word in _words_of(name) if word in OTHER_NAMES]
    # `memory_recall_all` is spelled like `memory_correct_fact`: a known verb says more than similar letters.
    nearest = dict.fromkeys([*by_verb, *get_close_matches(name, known, n=3, cutoff=0.8 if by_verb else 0.6)])
    return [one for one in nearest if one in known][:3]


def guess_operation(name: str) -> Operation | None:
    """Return the one operation that a made-up name can only mean, such as `search_memory`; None where it is a guess."""
    words = set(_words_of(name))
    meant = {OTHER_NAMES[word] for word in words if word in OTHER_NAMES}
    return CATALOGUE[meant.pop()] if len(meant) == 1 and words <= OTHER_NAMES.keys() | _OF_MEMORY else None


def _words_of(name: str) -> list[str]:
    # `saveMemory` is two words, as `save_memory` is.
    spaced = "".join(f"_{char}" if char.isupper() else char for char in name[:100].rpartition("__")[2])
    return [word for word in spaced.lower().replace("-", "_").split("_") if word]

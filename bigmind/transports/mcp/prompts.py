"""Prompts: what a person can ask their agent for by name, usually as a slash command."""

from dataclasses import dataclass, field, replace
from typing import Any

from django.template.loader import render_to_string
from mcp import MCPError, types

from bigmind.core.agent_rules import AgentRules
from bigmind.database.rls import rls_scope
from bigmind.gate import perform
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.request_context import RequestContext
from knowledge.capture.chosen_instructions import rules_for

READS_CONTEXT, STARTS = "memory_get_context", "memory_start_session"


@dataclass(frozen=True)
class Prompt:
    """A message that a client puts into the conversation.

    Attributes:
        arguments: What the person fills in, each with its description. All are required.
        recalls: The operation whose reply the message contains, if any.
        passes: The argument of that operation that each argument of the prompt becomes.
    """

    name: str
    title: str
    description: str
    arguments: dict[str, str] = field(default_factory=dict)
    recalls: str = ""
    passes: dict[str, str] = field(default_factory=dict)


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            name="bigmind_init",
            title="Start with your memory",
            description="Begins a conversation with what BigMind remembers, and how to use it.",
            recalls=READS_CONTEXT,
        ),
        Prompt(
            name="recall",
            title="Recall",
            description="Answers a question from memory, and says where each part of the answer comes from.",
            arguments={"question": "What to recall, in plain words."},
            recalls="memory_recall",
            passes={"question": "query"},
        ),
        Prompt(
            name="look_up",
            title="Look it up",
            description="Answers how to do something from the documentation alone, without making anything up.",
            arguments={"question": "What to do, in plain words."},
            recalls="search_knowledge",
            passes={"question": "query"},
        ),
        Prompt(
            name="promote",
            title="Propose company knowledge",
            description="Proposes what this conversation taught, where it holds for everybody in the company.",
            arguments={"what": "What everybody should know, in plain words."},
            recalls="memory_search_global",
            passes={"what": "query"},
        ),
        Prompt(
            name="wrap_up",
            title="Wrap up",
            description="Stores what this conversation taught, then ends the session with a summary.",
        ),
    )
}


def list_prompts(
    _context: RequestContext, _params: types.PaginatedRequestParams | None = None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(name=name, description=description, required=True)
                    for name, description in prompt.arguments.items()
                ],
            )
            for prompt in PROMPTS.values()
        ]
    )


def get_prompt(context: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Return a prompt, with what is remembered now.

    Raises:
        MCPError: there is no such prompt, or an argument is missing.
        BigMindError: the caller may not read what it contains.
    """
    prompt = PROMPTS.get(params.name)
    if prompt is None:
        names = ", ".join(PROMPTS)
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}. There are: {names}.")
    values = params.arguments or {}
    for name in prompt.arguments:
        if not values.get(name, "").strip():
            raise MCPError(types.INVALID_PARAMS, f"The prompt {prompt.name} needs the argument {name}.")
    rules = _rules(context)
    filling = _filling(context, prompt, rules, values)
    text = render_to_string(f"agent/prompts/{prompt.name}.md", filling, using="agent")
    return types.GetPromptResult(
        description=prompt.description,
        messages=[types.PromptMessage(role="user", content=types.TextContent(text=text.strip()))],
        _meta={"requestId": context.request_id},
    )


def _rules(context: RequestContext) -> AgentRules:
    with rls_scope(context.actor.user.pk):
        return rules_for(context.actor)


def _filling(context: RequestContext, prompt: Prompt, rules: AgentRules, values: dict[str, str]) -> dict[str, Any]:
    filled = {
        **values,
        "writes": rules.writes,
        "how": rules.how_to_write,
        "rules": str(replace(rules, is_started=True)),
    }
    if not prompt.recalls:
        return filled
    # What opens a session reads the context, too; calling it after the prompt would read that twice.
    starts = prompt.recalls == READS_CONTEXT and rules.writes and not rules.has_hooks
    arguments = {argument: values[name] for name, argument in prompt.passes.items()}
    operation = CATALOGUE[STARTS if starts else prompt.recalls]
    recalled = perform(operation, context.actor, arguments, transport="mcp")
    return {**filled, "recalled": recalled.markdown()}

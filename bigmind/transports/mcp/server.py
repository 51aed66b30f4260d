"""The MCP server: each method of the protocol, answered on a worker thread for the caller of the request."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, TypeVar

from django.db import DatabaseError
from django.template.loader import render_to_string
from django.utils import timezone
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server

from bigmind import __version__
from bigmind.core.agent_rules import AWAY, AgentRules, introduce
from bigmind.database.rls import rls_scope
from bigmind.toolsets import DEFAULT_TOOLSETS, TOOLSETS
from bigmind.transports.fair_pool import share_of
from bigmind.transports.mcp import changes, prompts, resources, tools
from bigmind.transports.mcp.conversations import bind_request
from bigmind.transports.mcp.protocol_errors import ProtocolError, as_protocol_error
from bigmind.transports.mcp.request_context import Caller, ClientName, RequestContext
from bigmind.transports.mcp.threads import on_a_thread
from knowledge.capture.chosen_instructions import rules_for
from knowledge.references.collections import list_documented

Context = ServerRequestContext[Any, Any]
CallerOf = Callable[[Context], Caller]
Params = TypeVar("Params")
Result = TypeVar("Result")

HOUR_MS = 60 * 60 * 1000
BY_DEFAULT = AgentRules(writing="automatic")
GREETING = frozenset({"initialize", "server/discover"})
"""The methods whose reply carries the instructions."""


def build_server(caller_of: CallerOf) -> Server[Any]:
    """Return a server that knows who is calling by `caller_of`."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await _make_handler(tools.call_tool, caller_of, tools.is_slow)(ctx, params)
        except ProtocolError as error:
            # Clients show tool errors to the agent, but most of them keep protocol errors to themselves.
            return tools.error_of(error.message, error.data)

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            return await _make_handler(tools.list_tools, caller_of)(ctx, params)
        except ProtocolError as error:
            if error.error.code != types.INTERNAL_ERROR:
                raise
            # Most clients ask once. With the tools listed, a call says that BigMind is away, and works once it is back.
            return tools.list_unchecked(caller_of(ctx).toolsets)

    async def listen(ctx: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        actor = await _make_handler(changes.listener, caller_of)(ctx, params)
        return await changes.listen(actor, ctx, params)

    server = Server(
        "bigmind",
        version=__version__,
        title="BigMind",
        description="Persistent, institutional memory for AI agents, curated by people.",
        # What is listed depends on the key and changes with a release, or when a domain of notes appears.
        cache_hints={
            "tools/list": CacheHint(ttl_ms=HOUR_MS, scope="private"),
            "prompts/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),
            "resources/templates/list": CacheHint(ttl_ms=HOUR_MS, scope="public"),
        },
        # No argument is mirrored in a header; without this the SDK lists all tools before each call to find out.
        get_tool_input_schema=lambda _: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=_make_handler(prompts.list_prompts, caller_of),
        on_get_prompt=_make_handler(prompts.get_prompt, caller_of),
        on_list_resources=_make_handler(resources.list_resources, caller_of),
        on_list_resource_templates=_make_handler(resources.list_templates, caller_of),
        on_read_resource=_make_handler(resources.read_resource, caller_of),
        on_completion=_make_handler(resources.complete, caller_of),
        on_subscriptions_listen=listen,
    )

    async def greet(ctx: Context, call_next: CallNext) -> HandlerResult:
        """Give a client the instructions for its toolsets and its user: the SDK knows one text for all."""
        result = await call_next(ctx)
        if ctx.method in GREETING and isinstance(result, dict):
            return {**result, "instructions": await _instructions_for(ctx, caller_of(ctx))}
        return result

    server.middleware.append(greet)
    return server


def server_instructions(
    toolsets: Collection[str] = DEFAULT_TOOLSETS, rules: AgentRules = BY_DEFAULT, documented: Sequence[str] = ()
) -> str:
    """Return the instructions that a client receives on connecting: when to call what, in the toolsets it lists.

    A toolset alone is described in full. Of several, `core` is, and a line says what each of the others is for.
    `documented` are the names of imported documentation, which are said where its toolset is not listed.
    """
    chosen = [name for name in TOOLSETS if name in toolsets or "all" in toolsets]
    whole = ["core"] if "core" in chosen else chosen if len(chosen) == 1 else []
    context = {
        "rules": rules,
        "texts": [
            introduce(rules)
            if name == "core"
            else render_to_string(f"agent/greetings/{name}.md", using="agent").strip()
            for name in whole
        ],
        "further": [(name, TOOLSETS[name]) for name in chosen if name not in whole],
        "says_how": "core" not in whole and rules != BY_DEFAULT,
        "documented": documented if "core" in chosen and "docs" not in chosen else (),
    }
    return render_to_string("agent/greetings/several.md", context, using="agent").strip()


async def _instructions_for(ctx: Context, caller: Caller) -> str:
    def work() -> tuple[AgentRules, list[str]]:
        client = read_introduction(ctx) or _client(ctx, caller)
        actor = bind_request(caller.identify(client), caller, ctx.meta or {})
        with rls_scope(actor.user.pk):
            may_read_docs = not actor.toolsets or "docs" in actor.toolsets
            return rules_for(actor), list_documented() if may_read_docs else []

    try:
        return server_instructions(caller.toolsets, *await on_a_thread(work, request_id=caller.request_id))
    except (DatabaseError, ProtocolError):
        return f"{AWAY} {server_instructions(caller.toolsets)}"


def _make_handler(
    answer: Callable[[RequestContext, Params], Result],
    caller_of: CallerOf,
    is_slow: Callable[[Params], bool] = lambda _: False,
) -> Callable[[Context, Params], Awaitable[Result]]:
    """Return a handler for a plain function: it identifies the caller and runs the function on a worker thread.

    Django's database connections block, so nothing that uses them may run on the event loop.
    """

    async def handler(ctx: Context, params: Params) -> Result:
        caller = caller_of(ctx)

        def work() -> Result:
            actor = bind_request(caller.identify(_client(ctx, caller)), caller, ctx.meta or {})
            with timezone.override(actor.user.zone):
                return answer(RequestContext(actor, caller.toolsets, caller.request_id, caller.structured), params)

        try:
            with share_of(caller.person, is_slow=is_slow(params)):
                return await on_a_thread(work, request_id=caller.request_id)
        except Exception as error:  # the outermost loop of a request
            raise as_protocol_error(error, caller.request_id) from error

    return handler


def read_introduction(ctx: Context) -> ClientName | None:
    """Return how a client introduces itself in the handshake; None for any other request."""
    if ctx.method != "initialize":
        return None
    client = (ctx.params or {}).get("clientInfo") or {}
    return ClientName(str(client.get("name", "")), str(client.get("version", "")))


def _client(ctx: Context, caller: Caller) -> ClientName:
    """Return how the client introduced itself: in the handshake, or in each request since revision 2026-07-28."""
    introduced = ctx.session.client_params
    if introduced is None:
        return caller.client
    return ClientName(introduced.client_info.name, introduced.client_info.version)

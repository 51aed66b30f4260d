"""Resources: the context, the guide, and each domain of notes, to be attached to a conversation."""

from urllib.parse import quote, unquote

from mcp import MCPError, types

from bigmind.core.errors import NotFound
from bigmind.core.limits import PAGE_ROWS
from bigmind.database.rls import rls_scope
from bigmind.gate import perform
from bigmind.operations import CATALOGUE, may_call
from bigmind.text.hygiene import echo
from bigmind.transports.mcp.request_context import RequestContext
from knowledge.memory.notes import note_domains

CONTEXT = "bigmind://context"
INSTRUCTIONS = "bigmind://instructions"
NOTES = "bigmind://notes/"
DOMAIN_TEMPLATE = NOTES + "{domain}"
MARKDOWN = "text/markdown"
DOMAINS_LISTED = 200
COMPLETIONS = 100
"""The most that the protocol allows in one reply."""

FIXED = (
    types.Resource(
        uri=CONTEXT,
        name="context",
        title="Context",
        description="What BigMind remembers of this user: profile, facts, recent sessions.",
        mime_type=MARKDOWN,
    ),
    types.Resource(
        uri=INSTRUCTIONS,
        name="instructions",
        title="Guide",
        description="How an agent uses BigMind.",
        mime_type=MARKDOWN,
    ),
)
_OPERATION_OF = {CONTEXT: "memory_get_context", INSTRUCTIONS: "memory_get_instructions"}


def notes_uri(domain: str) -> str:
    """Return the address of a domain of notes."""
    return NOTES + quote(domain, safe="")


def list_resources(
    context: RequestContext, params: types.PaginatedRequestParams | None = None
) -> types.ListResourcesResult:
    """List what this user's agent can attach: first the fixed ones, then the domains that have notes."""
    offset = _offset(params.cursor if params else None)
    domains = list(_domains(context).items())
    page = domains[offset : offset + DOMAINS_LISTED]
    return types.ListResourcesResult(
        resources=[*(() if offset else FIXED), *(_notes(domain, count) for domain, count in page)],
        next_cursor=str(offset + DOMAINS_LISTED) if len(domains) > offset + DOMAINS_LISTED else None,
    )


def list_templates(
    _context: RequestContext, _params: types.PaginatedRequestParams | None = None
) -> types.ListResourceTemplatesResult:
    """List the one pattern of addresses: a domain of notes."""
    template = types.ResourceTemplate(
        uri_template=DOMAIN_TEMPLATE,
        name="notes",
        title="Notes of a domain",
        description="All notes of one domain, such as email or calendar.",
        mime_type=MARKDOWN,
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


def read_resource(context: RequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Return the text of a resource as it is now.

    Raises:
        MCPError: there is nothing at this address.
        BigMindError: it may not be read.
    """
    text = _notes_of(context, params.uri) if params.uri.startswith(NOTES) else _read_fixed(context, params.uri)
    contents = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[contents], _meta={"requestId": context.request_id})


def complete(context: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Complete what a person begins to type for `{domain}` with the domains they have."""
    is_ours = isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri == DOMAIN_TEMPLATE
    begun = params.argument.value.casefold()
    fitting = [domain for domain in _domains(context) if domain.casefold().startswith(begun)] if is_ours else []
    values = fitting[:COMPLETIONS]
    return types.CompleteResult(
        completion=types.Completion(values=values, total=len(fitting), has_more=len(fitting) > len(values))
    )


def _read_fixed(context: RequestContext, uri: str) -> str:
    name = _OPERATION_OF.get(uri)
    if name is None:
        raise MCPError(types.INVALID_PARAMS, f"Resource not found: {uri[:200]}", {"uri": uri[:200]})
    return perform(CATALOGUE[name], context.actor, {}, transport="mcp").markdown()


def _notes_of(context: RequestContext, uri: str) -> str:
    domain = unquote(uri.removeprefix(NOTES), errors="replace")
    outcome = perform(
        CATALOGUE["knowledge_get"], context.actor, {"domain": domain, "limit": PAGE_ROWS}, transport="mcp"
    )
    if not outcome.to_data()["items"]:
        raise NotFound(f"You have no notes in {echo(domain)}.", hint="resources/list names the domains you have.")
    return outcome.markdown()


def _domains(context: RequestContext) -> dict[str, int]:
    if not may_call(context.actor, CATALOGUE["knowledge_get"]):
        return {}
    with rls_scope(context.actor.user.pk):
        return note_domains(context.actor)


def _notes(domain: str, count: int) -> types.Resource:
    return types.Resource(
        uri=notes_uri(domain),
        name=f"notes/{domain}",
        title=f"Notes: {domain}",
        description=f"{count} note{'' if count == 1 else 's'}.",
        mime_type=MARKDOWN,
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
        raise MCPError(types.INVALID_PARAMS, "This cursor is not one that resources/list gave.")
    return int(cursor)

"""The page that connects an agent: what it will see, what to paste, and whether it has called."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.actor import Actor
from accounts.authentication import actor_of
from accounts.connecting.instruction_files import rules_in_file
from accounts.connecting.offered_clients import make_server_config, ways_in
from accounts.connecting.supported_clients import CLIENTS, client_called
from accounts.keys import DEFAULT_SCOPES, create_key
from accounts.models import Agent
from accounts.oauth.app_tokens import oauth_address
from accounts.views.keys import default_lifetime, ends_after, hand_over
from bigmind.core.load_once import load_once
from bigmind.core.operations import Operation
from bigmind.operations import operations_for
from bigmind.text.token_counts import count_tokens
from bigmind.toolsets import DEFAULT_TOOLSETS, TOOLSETS, parse_toolsets
from bigmind.web.pages import is_own_address

AGENTS_SHOWN = 10


@dataclass(frozen=True)
class Offer:
    """A toolset as the page offers it: what it is for, and what its list costs every conversation."""

    name: str
    purpose: str
    tools: int
    tokens: int
    is_chosen: bool


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest) -> HttpResponse:
    """Show what to paste into each client; make a key for one of them when asked to."""
    actor = actor_of(request)
    sent = request.POST if request.method == "POST" else request.GET
    chosen = parse_toolsets(",".join(sent.getlist("toolsets")))
    listed = _toolsets_parameter(chosen)
    if request.method == "POST":
        back = sent.get("next", "")
        return _make_key(actor, sent.get("client", ""), listed, back if is_own_address(request, back) else "")
    offers = [_offer(actor, name, chosen) for name in TOOLSETS]
    chosen_client = client_called(request.GET.get("client", ""))
    context = {
        "offers": offers,
        "tools": len(_operations_in(actor, chosen)),
        "tokens": sum(_price_of(operation) for operation in _operations_in(actor, chosen)),
        "listed": sorted(chosen),
        "narrowed": bool(sent.getlist("toolsets")),
        "ways_in": ways_in(make_server_config(toolsets=listed)),
        "chosen": chosen_client,
        "opened": chosen_client or CLIENTS[0],
        "oauth_address": oauth_address() if settings.OAUTH else "",
        "rules": rules_in_file(),
        "agents": Agent.objects.filter(user=actor.user).order_by("-last_seen")[:AGENTS_SHOWN],
    }
    return render(request, "accounts/connect.html", context)


def _make_key(actor: Actor, slug: str, listed: list[str], back: str) -> HttpResponse:
    client = client_called(slug)
    if client is None:
        raise Http404
    made = create_key(actor.user, label=client.name, expires_at=ends_after(default_lifetime()))
    return hand_over(made, client=client.slug, toolsets=",".join(listed), next=back)


def _toolsets_parameter(chosen: Collection[str]) -> list[str]:
    """Return what the address must say for a choice: as little as possible."""
    if "all" in chosen or set(chosen) == TOOLSETS.keys():
        return ["all"]
    return [] if set(chosen) == DEFAULT_TOOLSETS else [name for name in TOOLSETS if name in chosen]


def _offer(actor: Actor, name: str, chosen: Collection[str]) -> Offer:
    operations = _operations_in(actor, {name})
    tokens = sum(_price_of(operation) for operation in operations)
    return Offer(name, TOOLSETS[name], len(operations), tokens, name in chosen or "all" in chosen)


def _operations_in(actor: Actor, toolsets: Collection[str]) -> list[Operation]:
    """Return what a key that this page makes is listed: each operation once, and none that such a key may not call."""
    return list(operations_for(replace(actor, scopes=frozenset(DEFAULT_SCOPES)), toolsets))


@load_once
def _price_of(operation: Operation) -> int:
    """Return what an agent pays for one tool: the tokens of its line in `tools/list`."""
    # What imports the routes, such as most commands, would wait half a second for the library of MCP.
    from bigmind.transports.mcp.tools import tool_of

    return count_tokens(tool_of(operation).model_dump_json(by_alias=True, exclude_none=True))

"""The page of the company server, for admins: the connection, queued proposals, retrying now."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.translation import _
from bigmind.web.pages import own_page, tell
from curation.upstream.outgoing_proposals import send_to_company
from curation.upstream.synchronization import connection, try_again


@own_page
@require_safe
def company_server(request: HttpRequest) -> HttpResponse:
    """Show the state of the connection to the company server."""
    return render(request, "curation/company_server.html", {"connection": connection(actor_of(request))})


@own_page
@require_POST
def trying_now(request: HttpRequest) -> HttpResponse:
    server = try_again(actor_of(request))
    tell(request, _("%(host)s is asked now.") % {"host": server.host})
    return redirect("company-server")


@own_page
@require_POST
def sending(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a proposal that was kept on this instance to the company."""
    dispatch = send_to_company(actor_of(request), entry_id=pk)
    tell(request, f"{dispatch.entry.handle} {dispatch.in_words}.")
    return redirect("company-server")

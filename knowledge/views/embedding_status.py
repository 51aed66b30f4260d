"""The page of the embedding pipeline, for admins: what waits, what failed, and what can be done about it."""

from collections.abc import Callable
from functools import wraps

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import actor_of
from bigmind.core.errors import Conflict
from bigmind.core.translation import _
from bigmind.web.pages import own_page, tell
from knowledge.indexing.embedding import retry_failed, stop_rebuild, stop_waiting
from knowledge.indexing.embedding_status import pipeline_state
from knowledge.indexing.re_embedding import rebuild_embeddings
from knowledge.models import EmbeddingSpace


def _with_an_embedder(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse in words when the settings choose no embedder: nothing can be made then."""

    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except ImproperlyConfigured as error:
            raise Conflict(str(error), hint=_("Change the setting and start BigMind again.")) from error

    return wrapper


@own_page
@require_safe
def pipeline(request: HttpRequest) -> HttpResponse:
    """Show how the making of vectors stands."""
    return render(request, "knowledge/pipeline.html", {"state": pipeline_state(actor_of(request))})


@own_page
@require_POST
def retrying(request: HttpRequest) -> HttpResponse:
    """Let what failed be tried again now."""
    retried = retry_failed(actor_of(request))
    tell(
        request,
        _("%(retried)s will be tried again now.") % {"retried": _texts(retried)}
        if retried
        else _("The embedder will be asked again now."),
    )
    return redirect("embeddings")


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
@_with_an_embedder
def rebuilding(request: HttpRequest) -> HttpResponse:
    """Ask once more, saying what it takes; then let all vectors be made again."""
    actor = actor_of(request)
    if request.method == "POST":
        again = rebuild_embeddings(actor, batch_size=_batch_size(), clear_cache="clear_cache" in request.POST)
        tell(
            request,
            _("%(what)s will get new vectors. Search goes on meanwhile.")
            % {"what": _texts(again.total - again.processed)},
        )
        return redirect("embeddings")
    return render(request, "knowledge/pipeline_rebuild.html", {"state": pipeline_state(actor)})


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
@_with_an_embedder
def stopping(request: HttpRequest) -> HttpResponse:
    """Ask once more, saying what becomes of what was made; then stop a rebuild, or what waits of one kind."""
    actor = actor_of(request)
    if kind := request.POST.get("kind"):
        stopped = _texts(stop_waiting(actor, kind))
        tell(
            request,
            _("Stopped: %(stopped)s will be found by words only. “Retry failures now” goes on with them.")
            % {"stopped": stopped},
        )
        return redirect("embeddings")
    if request.method == "POST":
        let_go = stop_rebuild(actor)
        stopped = _("Stopped. %(let_go)s will not get a new vector.") % {"let_go": _texts(let_go)}
        tell(request, stopped if let_go else _("Stopped. Nothing was left to re-embed."))
        return redirect("embeddings")
    return render(request, "knowledge/pipeline_stop.html", {"state": pipeline_state(actor)})


def _batch_size() -> int:
    """A rebuild from the page keeps the size that was set before."""
    size = EmbeddingSpace.objects.order_by("-pk").values_list("batch_size", flat=True).first()
    return size or EmbeddingSpace().batch_size


def _texts(count: int) -> str:
    return f"{count:,} text{'' if count == 1 else 's'}"

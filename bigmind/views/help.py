"""The pages of the documentation, for everyone: they say nothing about anyone."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from bigmind.help.contents import INDEX, PICTURES, groups, pages, pictures
from bigmind.help.rendering import address_of, render_page, title_of
from bigmind.help.search import QUERY_CHARS, search_help

ONE_HOUR = 60 * 60


@require_safe
def help_page(request: HttpRequest, slug: str = INDEX) -> HttpResponse:
    """Show a page of the documentation, or what was found for a query."""
    if slug not in pages():
        raise Http404
    query = request.GET.get("query", "").replace("\0", "")[:QUERY_CHARS].strip()
    order = list(pages())
    place = order.index(slug)
    context = {
        "slug": slug,
        "query": query,
        "hits": search_help(query) if query else [],
        "page": render_page(slug),
        "page_group": pages()[slug].group,
        "groups": [
            (group.title, [(page.slug, title_of(page), address_of(page.slug)) for page in group.pages])
            for group in groups()
        ],
        "before": _neighbour(order[place - 1]) if place else None,
        "after": _neighbour(order[place + 1]) if place + 1 < len(order) else None,
    }
    return render(request, "help/page.html", context)


@require_safe
def help_file(request: HttpRequest, name: str) -> HttpResponse:
    """Send a picture of the documentation."""
    file = pictures().get(name)
    if file is None:
        raise Http404
    response = HttpResponse(file.read_bytes(), content_type=PICTURES[file.suffix])
    response["Cache-Control"] = f"public, max-age={ONE_HOUR}"
    return response


def _neighbour(slug: str) -> tuple[str, str]:
    return title_of(pages()[slug]), address_of(slug)

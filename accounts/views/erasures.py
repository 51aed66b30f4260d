"""Reports of erasures: admins read all, everyone those about themselves; each can be taken away as a file."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from accounts.services.erasure_reports import as_file, get_erasure, list_erasures, person_in
from bigmind.core.errors import NotFound
from bigmind.database.pagination import page_of
from bigmind.web.pages import offset_in

REPORTS_ON_A_PAGE = 50


@never_cache
@login_required
@require_safe
def erasures(request: HttpRequest) -> HttpResponse:
    """List what was erased, the newest first."""
    page = page_of(list_erasures(actor_of(request)), limit=REPORTS_ON_A_PAGE, offset=offset_in(request))
    rows = [
        {
            "report": report,
            "asked_by": person_in(report, "asked_by"),
            "whose": person_in(report, "whose"),
            "meant": [(name, meanings) for name, meanings in report.document["meant"].items() if name != "what"],
            "counts": [(name, count) for name, count in report.document["counts"].items() if count],
        }
        for report in page.items
    ]
    return render(request, "accounts/erasures.html", {"page": page, "rows": rows})


@never_cache
@login_required
@require_safe
def erasure_file(request: HttpRequest, report_id: int) -> HttpResponse:
    """Hand out one report with its signature."""
    try:
        report = get_erasure(actor_of(request), report_id=report_id)
    except NotFound as error:
        raise Http404 from error
    answer = JsonResponse(as_file(report), json_dumps_params={"indent": 2, "ensure_ascii": False})
    answer["Content-Disposition"] = f'attachment; filename="erasure-{report.pk}.json"'
    return answer

"""Taking the memory along: download it as one document."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from bigmind.web.pages import own_page
from knowledge.transfer.exports import export_memory


@own_page
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download everything that is remembered as one JSON document."""
    actor = actor_of(request)
    response = HttpResponse(export_memory(actor).model_dump_json(indent=2), content_type="application/json")
    name = f"bigmind-{actor.user.username}-{timezone.localdate().isoformat()}.json"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return response

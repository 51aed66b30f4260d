"""The documentation page of the REST API: drawn from the catalogue, complete without a script or another site."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.csrf import csrf_exempt

from bigmind.core.nesting import JSON_DEPTH
from bigmind.transports.rest.parsers import IMPORT_BYTES
from bigmind.transports.rest.problems import TITLES, problem
from bigmind.transports.rest.reference import arguments_in_words, curl_of, reply_of, toolsets
from bigmind.transports.rest.routes import ROOT


@csrf_exempt  # Nothing is changed here, and a mistaken POST gets the same kind of error as elsewhere.
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show every route with its arguments, limits and an example."""
    if request.method not in {"GET", "HEAD"}:
        headers = {"Allow": "GET, HEAD"}
        return problem(405, "method_not_allowed", "This page can only be read.", hint=f"See {ROOT}.", headers=headers)
    groups = [
        {
            "toolset": toolset,
            "routes": [
                {
                    "operation": operation,
                    "paragraphs": [_with_code(text) for text in operation.description.split("\n\n")],
                    "arguments": arguments_in_words(operation),
                    "curl": curl_of(operation, settings.PUBLIC_URL),
                    "reply": reply_of(operation),
                }
                for operation in toolset.operations
            ],
        }
        for toolset in toolsets()
    ]
    context = {
        "groups": groups,
        "problems": TITLES,
        "root": ROOT,
        "rate_limit": settings.RATE_LIMIT_PER_MINUTE,
        "body_mib": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20,
        "import_mib": IMPORT_BYTES // 2**20,
        "json_depth": JSON_DEPTH,
    }
    return render(request, "api/docs.html", context)


def _with_code(text: str) -> SafeString:
    """Draw what stands in backticks as code: descriptions are written for agents, who read markdown."""
    parts = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", part) if n % 2 else part,) for n, part in parts))

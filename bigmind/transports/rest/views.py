"""The REST API: each path of the catalogue is a view, each method on it an operation."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import APISettings
from rest_framework.views import APIView

from accounts.actor import Actor
from accounts.services.rate_limits import allowance_of
from bigmind.core.limits import IMPORT_BYTES
from bigmind.core.operations import Effect, Operation
from bigmind.gate import Outcome, perform
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.authentication import actor_of
from bigmind.transports.rest.etags import body_of, etag_of, is_conditional, is_known, write_if_it_holds
from bigmind.transports.rest.problems import problem
from bigmind.transports.rest.request_reading import StrictJSONParser, arguments_of, check_size
from bigmind.transports.rest.routes import nearest_route

REPLAYED = "Idempotency-Replayed"
NOTICE = "BigMind-Notice"
LIMIT, POLICY = "RateLimit", "RateLimit-Policy"

IMPORTS = frozenset({"memory_import", "kb_bulk_import"})
"""The operations whose body may be 4 MiB."""


class JsonOnly(DefaultContentNegotiation):
    """Judges the Accept header alone: `?format=` may be an argument of an operation."""

    settings: Any = APISettings({"URL_FORMAT_OVERRIDE": None})  # type: ignore[arg-type]


class OperationView(APIView):
    """One path. `operations` says which operation each method (in lower case) performs; `asks` who was let in."""

    operations: Mapping[str, Operation] = {}
    asks: Actor | None = None
    content_negotiation_class = JsonOnly
    parser_classes = [StrictJSONParser]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a body that says it is too large before a byte of it is read."""
        super().initial(request, *args, **kwargs)
        self.asks = actor_of(request)
        length = request.META.get("CONTENT_LENGTH") or "0"
        check_size(int(length) if length.isdecimal() else 0, self.body_bytes)

    def get(self, request: Request, **path: str) -> HttpResponse:
        """Perform the operation of this path and method."""
        operation = self._operation(request)
        arguments = arguments_of(operation, request, path)

        def run() -> Outcome:
            key = request.headers.get("Idempotency-Key")
            return perform(operation, actor_of(request), arguments, transport="rest", idempotency_key=key)

        if operation.effect is Effect.READ or not is_conditional(request):
            outcome = run()
        else:
            outcome = write_if_it_holds(request, arguments, run, self.operations.get("get"))
        return self._reply(request, outcome)

    post = put = patch = delete = get

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Say with every reply to a key, also a refusal, what it may still do in this minute."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.asks is not None:
            for name, value in _limits(self.asks).items():
                response[name] = value
        return response

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """Name the methods of this path in the header Allow."""
        return Response(status=204)

    @property
    def body_bytes(self) -> int:
        """How large a body may be here: an import may be larger than anything else."""
        is_import = any(operation.name in IMPORTS for operation in self.operations.values())
        return IMPORT_BYTES if is_import else settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    def get_parser_context(self, http_request: HttpRequest) -> dict[str, Any]:
        """Tell the parser how much it may read."""
        return {**super().get_parser_context(http_request), "body_bytes": self.body_bytes}

    def _operation(self, request: Request) -> Operation:
        method = (request.method or "get").lower()
        return self.operations["get" if method == "head" else method]

    def _reply(self, request: Request, outcome: Outcome) -> HttpResponse:
        body = body_of(outcome.value)
        headers = {"Cache-Control": "private, no-cache", **_links(request, outcome.value)}
        if self._is_representation(outcome.operation):
            headers["ETag"] = etag = etag_of(body)
            if outcome.operation.effect is Effect.READ and is_known(request, etag):
                return HttpResponseNotModified(headers=headers)
        if outcome.replayed:
            headers[REPLAYED] = "true"
        if outcome.notices:
            headers[NOTICE] = " ".join(outcome.notices)
        return HttpResponse(body, "application/json", _status(outcome), headers=headers)

    def _is_representation(self, operation: Operation) -> bool:
        """Whether the reply is what GET on the same path answers, so that the two share an ETag."""
        reading = self.operations.get("get")
        return reading is not None and reading.shape is operation.shape and operation.effect is not Effect.DESTROY


@csrf_exempt
def no_such_route(request: HttpRequest) -> HttpResponse:
    """Answer whatever no operation stands for, naming the nearest route."""
    nearest = nearest_route(request.path)
    hint = f"Do you mean {nearest}?" if nearest else f"The page {reverse('api-docs')} lists the routes."
    return problem(404, "no_route", "There is no such route.", hint=hint)


def _status(outcome: Outcome) -> int:
    """201 for what was added, else 200."""
    return 201 if adds(outcome.operation) and not getattr(outcome.value, "duplicate", False) else 200


def adds(operation: Operation) -> bool:
    """Whether an operation adds to a collection: POST on what GET lists or on a plural noun, not on a verb (`end/`)."""
    if operation.method != "POST" or operation.effect is Effect.READ:
        return False
    is_listed = any(other.path == operation.path and other.method == "GET" for other in CATALOGUE.values())
    return is_listed or operation.path.endswith("s/")


def _limits(actor: Actor) -> dict[str, str]:
    """Return the headers of the limit, as draft-ietf-httpapi-ratelimit-headers-10 writes them."""
    allowance = allowance_of(actor)
    if allowance is None:
        return {}
    return {
        POLICY: f'"minute";q={allowance.limit};w=60',
        LIMIT: f'"minute";r={allowance.left};t={allowance.seconds}',
    }


def _links(request: Request, value: Any) -> dict[str, str]:
    """Return the Link header of a page of a list: where the next and the previous page are."""
    if not all(hasattr(value, name) for name in ("items", "total", "limit", "offset")):
        return {}
    pages: dict[str, dict[str, str]] = {}
    if getattr(value, "next_cursor", None):
        pages["next"] = {"cursor": value.next_cursor}
    elif not hasattr(value, "next_cursor") and value.offset + len(value.items) < value.total and value.items:
        pages["next"] = {"offset": str(value.offset + value.limit)}
    if value.offset > 0 and "cursor" not in request.query_params:
        pages["prev"] = {"offset": str(max(0, value.offset - value.limit))}
    links = ", ".join(f'<{_at(request, place)}>; rel="{rel}"' for rel, place in pages.items())
    return {"Link": links} if links else {}


def _at(request: Request, place: Mapping[str, str]) -> str:
    query = request.query_params.copy()
    for name in ("offset", "cursor"):
        query.pop(name, None)
    for name, value in place.items():
        query[name] = value
    return f"{settings.PUBLIC_URL}{request.path}?{urlencode(list(query.lists()), doseq=True)}"

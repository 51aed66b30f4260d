"""The route of the OpenAPI document."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from bigmind.transports.rest.etags import etag_of, is_known
from bigmind.transports.rest.views import JsonOnly


class OpenApiDocument(APIView):
    """The OpenAPI document of this instance, for everyone: it tells nothing about anyone."""

    authentication_classes = []
    permission_classes = []
    content_negotiation_class = JsonOnly
    schema = None

    def get(self, request: Request) -> HttpResponse:
        # Here, because what writes it takes long to import, and no start waits for it.
        from bigmind.transports.rest.openapi_document import openapi

        body = json.dumps(openapi(), indent=1).encode()
        etag = etag_of(body)
        headers = {
            "ETag": etag,
            "Cache-Control": "no-cache",
            "Content-Disposition": 'inline; filename="bigmind-openapi.json"',
        }
        if is_known(request, etag):
            return HttpResponseNotModified(headers=headers)
        return HttpResponse(body, "application/json", headers=headers)

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """Name the methods of this path in the header Allow."""
        return Response(status=204)

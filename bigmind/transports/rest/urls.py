"""The routes below `/api/`: the catalogue's, the OpenAPI document, and the documentation pages."""

from django.urls import path, re_path

from bigmind.transports.rest import openapi_view, reference_pages
from bigmind.transports.rest.routes import django_route, operations_by_path
from bigmind.transports.rest.views import OperationView, no_such_route

HARMLESS = ("head", "options")

operation_routes = [
    path(
        f"v1/{django_route(route)}",
        OperationView.as_view(
            operations=operations,
            http_method_names=[*operations, *(HARMLESS if "get" in operations else ("options",))],
        ),
        name=f"api-{route}",
    )
    for route, operations in operations_by_path().items()
]

urlpatterns = [
    path("", reference_pages.api_docs, name="api-docs"),
    path("toolsets/<str:name>/", reference_pages.api_toolset, name="api-toolset"),
    path("operations/<str:name>/", reference_pages.api_operation, name="api-operation"),
    path("v1/openapi.json", openapi_view.OpenApiDocument.as_view(), name="openapi"),
    *operation_routes,
    re_path(r"", no_such_route, name="api-no-route"),
]

"""The OpenAPI document: each operation described from the catalogue, nothing guessed from the views."""

from typing import Any

from django.conf import settings
from django.urls import include, path
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from bigmind.core.load_once import load_once
from bigmind.toolsets import TOOLSETS
from bigmind.transports.rest.openapi_operation import PARAMETERS, RESPONSES, SCHEMAS, describe
from bigmind.transports.rest.views import OperationView


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The key in the header, as OpenAPI says it."""

    target_class = "bigmind.transports.rest.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        about = "An API key of BigMind. The page “Keys” makes one, and so does `bigmind key_create`."
        return {"type": "http", "scheme": "bearer", "bearerFormat": "bm_…", "description": about}


class OperationSchema(AutoSchema):
    """Describes the operation that a view performs for a method."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, Any]:
        """Return the description, and register the schemas it refers to."""
        self.registry = registry
        assert isinstance(self.view, OperationView), "all else is left out of the document"
        operations = self.view.operations
        description, schemas = describe(operations[method.lower()], operations.get("get"))
        for name, schema in schemas.items():
            _register(registry, ResolvedComponent.SCHEMA, name, schema)
        return {**description, "security": self.get_auth()}


@load_once
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document as data."""
    generator = SchemaGenerator(patterns=[path("api/", include("bigmind.transports.rest.urls"))])  # type: ignore[no-untyped-call]
    for kind, components in (
        (ResolvedComponent.SCHEMA, SCHEMAS),
        (ResolvedComponent.RESPONSE, RESPONSES),
        (ResolvedComponent.PARAMETER, PARAMETERS),
    ):
        for name, component in components.items():
            _register(generator.registry, kind, name, component)
    document: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    document["servers"] = [{"url": settings.PUBLIC_URL, "description": "This BigMind"}]
    document["tags"] = [{"name": name, "description": about} for name, about in TOOLSETS.items()]
    return document


def _register(registry: ComponentRegistry, kind: str, name: str, schema: dict[str, Any]) -> None:
    component = ResolvedComponent(name=name, type=kind, schema=schema, object=name)  # type: ignore[no-untyped-call]
    registry.register_on_missing(component)

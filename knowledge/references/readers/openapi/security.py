"""Who may call an endpoint: its security requirements in words, and as arguments of curl."""

import shlex
from typing import Any, NamedTuple

from knowledge.references.readers.openapi.operations import ApiEndpoint
from knowledge.references.readers.openapi.reading import line, listing, mapping, text, texts

NONE = "none"
CHOICES = 10
NAME_CHARS = 100


class Credentials(NamedTuple):
    """What a request shows about its sender: arguments of curl, and a part of the query."""

    arguments: tuple[str, ...] = ()
    query: tuple[str, ...] = ()


def security_of(endpoint: ApiEndpoint) -> tuple[str, ...]:
    """Return what suffices to call it, each choice in words: `token (HTTP bearer)`, `oauth (read, write)`, `none`."""
    return tuple(dict.fromkeys(_in_words(endpoint, choice) for choice in _requirements(endpoint)))


def credentials_for(endpoint: ApiEndpoint) -> Credentials:
    """Return what the first choice asks of a request, with variables of the shell in place of secrets."""
    requirements = _requirements(endpoint)
    arguments, query = list[str](), list[str]()
    for name in requirements[0] if requirements else ():
        scheme, kind = _scheme(endpoint, name), ""
        kind, header = text(scheme.get("type")).lower(), line(scheme.get("name"), NAME_CHARS)
        is_basic = kind == "basic" or text(scheme.get("scheme")).lower() == "basic"
        if is_basic:
            arguments.append('-u "$USER:$PASSWORD"')
        elif kind in {"http", "oauth2", "openidconnect"}:
            arguments.append('-H "Authorization: Bearer $TOKEN"')
        elif kind == "apikey" and scheme.get("in") == "query":
            query.append(header)
        elif kind == "apikey":
            option = "-b" if scheme.get("in") == "cookie" else "-H"
            sign = "=" if option == "-b" else ": "
            arguments.append(f'{option} {shlex.quote(header + sign)}"$API_KEY"')
    return Credentials(tuple(arguments), tuple(query))


def _requirements(endpoint: ApiEndpoint) -> list[dict[str, Any]]:
    own = endpoint.raw.get("security")
    given = own if isinstance(own, list) else listing(endpoint.document.raw.get("security"))
    return [choice for choice in given[:CHOICES] if isinstance(choice, dict)]


def _scheme(endpoint: ApiEndpoint, name: str) -> dict[str, Any]:
    raw = endpoint.document.raw
    schemes = mapping(mapping(raw.get("components")).get("securitySchemes"))
    return endpoint.document.resolve(schemes.get(name), f"#/components/securitySchemes/{name}")


def _in_words(endpoint: ApiEndpoint, choice: dict[str, Any]) -> str:
    return " and ".join(_scheme_in_words(endpoint, name, scopes) for name, scopes in choice.items()) or NONE


def _scheme_in_words(endpoint: ApiEndpoint, name: str, scopes: Any) -> str:
    scheme = _scheme(endpoint, name)
    kind = text(scheme.get("type"))
    description = {
        "http": f"HTTP {text(scheme.get('scheme'))}".strip(),
        "basic": "HTTP basic",
        "apiKey": f"{text(scheme.get('in'))} {text(scheme.get('name'))}".strip(),
        "oauth2": "OAuth 2",
        "openIdConnect": "OpenID Connect",
        "mutualTLS": "client certificate",
    }.get(kind, kind)
    parts = [part for part in (description, ", ".join(texts(scopes))) if part]
    return line(f"{name} ({'; '.join(parts)})" if parts else name, 300)

"""Checks of the company's sign-in provider: what its discovery document must say for people to come in."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from bigmind.core.translation import _, gettext_lazy, ngettext
from bigmind.network.addresses import AddressRefused, Fetched, fetch
from bigmind.text.hygiene import echo

from .openid_connect import ALGORITHMS

SECONDS = 5.0
MOST_BYTES = 256 * 1024
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

Outcome = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class ProviderCheck:
    """One check, and what to do if it fails."""

    outcome: Outcome
    what: str
    next_step: str = ""


def check_provider() -> list[ProviderCheck]:
    """Fetch the provider's documents, within seconds, and return what is right and what is wrong with them."""
    address = f"{settings.OIDC_ISSUER}/.well-known/openid-configuration"
    found, error = _document(address)
    if error:
        return [ProviderCheck("problem", f"{address}: {error}", _ABOUT_ISSUER)]
    checks = [ProviderCheck("ok", f"{address} answers."), *_check_document(found)]
    if isinstance(found.get("jwks_uri"), str):
        checks += _check_keys(found["jwks_uri"])
    return checks


_ABOUT_ISSUER = gettext_lazy(
    "BIGMIND_OIDC_ISSUER must be the issuer exactly as the provider names it, without the path "
    "/.well-known/openid-configuration, and reachable from this machine."
)


def _check_document(found: Mapping[str, Any]) -> Iterator[ProviderCheck]:
    issuer = str(found.get("issuer", ""))
    if issuer.rstrip("/") != settings.OIDC_ISSUER:
        yield ProviderCheck(
            "problem",
            _("It names itself %(issuer)s.") % {"issuer": echo(issuer)},
            _("Set BIGMIND_OIDC_ISSUER to that address."),
        )
    else:
        yield ProviderCheck(
            "ok", _("It names itself %(issuer)s, as BIGMIND_OIDC_ISSUER does.") % {"issuer": echo(issuer)}
        )
    for name in ENDPOINTS:
        yield _check_endpoint(name, found.get(name))
    yield _check_list(
        found, "response_types_supported", {"code"}, _("Allow the authorization code flow for this client.")
    )
    yield _check_list(found, "scopes_supported", {"openid", "email"}, _("Give the client the scopes openid and email."))
    signs = _("Let it sign the id_token with a key pair, such as RS256; a shared secret (HS256) is refused.")
    yield _check_list(found, "id_token_signing_alg_values_supported", ALGORITHMS, signs, needs_all=False)
    pkce = _("BigMind sends PKCE with S256; a provider that rejects it lets nobody in.")
    yield _check_list(found, "code_challenge_methods_supported", {"S256"}, pkce)
    claims = {"email", "email_verified", *filter(None, [settings.OIDC_ROLE_CLAIM])}
    yield _check_list(
        found,
        "claims_supported",
        claims,
        _("Map the claims %(join)s for this client.") % {"join": ", ".join(sorted(claims))},
    )


def _check_endpoint(name: str, url: object) -> ProviderCheck:
    parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
    is_local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if not parts.hostname:
        return ProviderCheck(
            "problem", _("It names no %(name)s.") % {"name": name}, _("Is this an OpenID Connect provider?")
        )
    if parts.scheme != "https" and not is_local:
        return ProviderCheck(
            "problem",
            _("Its %(name)s has no https: %(url)s.") % {"name": name, "url": echo(url)},
            _("Serve the provider by https."),
        )
    return ProviderCheck("ok", _("%(name)s: %(url)s") % {"name": name, "url": echo(url)})


def _check_list(
    found: Mapping[str, Any], name: str, required: Any, next_step: str, *, needs_all: bool = True
) -> ProviderCheck:
    """Compare one list of the document. Lists are optional, so a missing one is no error."""
    offered = found.get(name)
    if not isinstance(offered, list):
        return ProviderCheck(
            "warning",
            _("It does not say %(name)s, which it need not.") % {"name": name},
            _("The test sign-in shows it."),
        )
    has = {str(one) for one in offered}
    missing = [one for one in sorted(required) if one not in has]
    if missing if needs_all else len(missing) == len(required):
        outcome: Outcome = "warning" if name == "claims_supported" else "problem"
        return ProviderCheck(
            outcome, _("%(name)s lacks %(join)s.") % {"name": name, "join": ", ".join(missing)}, next_step
        )
    return ProviderCheck(
        "ok", _("%(name)s: %(join)s") % {"name": name, "join": ", ".join(one for one in sorted(required) if one in has)}
    )


def _check_keys(address: str) -> Iterator[ProviderCheck]:
    found, error = _document(address)
    keys = found.get("keys")
    if error or not isinstance(keys, list) or not keys:
        yield ProviderCheck(
            "problem",
            _("%(address)s: %(what)s") % {"address": address, "what": error or _("no keys are in it.")},
            _("Its keys check who signed in."),
        )
    else:
        yield ProviderCheck(
            "ok",
            ngettext("It publishes %(count)s signing key.", "It publishes %(count)s signing keys.", len(keys))
            % {"count": len(keys)},
        )


def _document(address: str) -> tuple[dict[str, Any], str]:
    """Return a JSON object, or why there is none. The operator chose this address, so it may be in their network."""
    try:
        answer: Fetched = fetch(address, most_bytes=MOST_BYTES, seconds=SECONDS, may_be_private=True)
        found = json.loads(answer.body) if answer.status == 200 else None
    except AddressRefused as error:
        return {}, str(error)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return {}, _("it does not answer within %(seconds)s s (%(error)s).") % {
            "seconds": f"{SECONDS:g}",
            "error": type(error).__name__,
        }
    except (ValueError, RecursionError):
        return {}, _("it does not answer with JSON.")
    if answer.status != 200:
        return {}, _("it answers with the status %(status)s.") % {"status": answer.status}
    return (found, "") if isinstance(found, dict) else ({}, _("it does not answer with a JSON object."))

"""`/metrics`: who may read it, and what it says."""

import platform
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from django import get_version
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from prometheus_client import Info
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from accounts.authentication import bearer_token
from accounts.sign_in.attempts import count_wrong
from bigmind import __version__
from bigmind.core.errors import TooMany
from bigmind.core.metrics import REGISTRY
from bigmind.observability.metrics import figures

__all__ = ["figures", "metrics"]

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip")
WAY_IN = "Set BIGMIND_METRICS_TOKEN, and send it as `Authorization: Bearer …`.\n"

BUILD = Info("bigmind_build", "The version that runs, and what it runs on.", registry=REGISTRY)
BUILD.info({"version": __version__, "python": platform.python_version(), "django": get_version()})


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Prometheus: anyone who has the token or, where none is set, this machine alone."""
    if settings.METRICS_TOKEN:
        shown = bearer_token(request.headers.get("Authorization", "")) or ""
        if not compare_digest(shown.encode(), settings.METRICS_TOKEN.encode()):
            return _refuse(shown, request.META.get("REMOTE_ADDR", ""))
    elif not _comes_from_here(request):
        return _plain(WAY_IN, 403)
    if request.method not in {"GET", "HEAD"}:
        return _plain("Metrics can only be read.\n", 405, {"Allow": "GET, HEAD"})
    answer = HttpResponse(generate_latest(REGISTRY), CONTENT_TYPE_LATEST)
    answer["Cache-Control"] = "no-store"
    return answer


def _refuse(shown: str, address: str) -> HttpResponse:
    try:
        if shown:
            count_wrong(shown, address)
    except TooMany as refusal:
        return _plain(f"{refusal}\n", 429, {"Retry-After": str(refusal.retry_after)})
    return _plain(WAY_IN, 401, {"WWW-Authenticate": 'Bearer realm="BigMind metrics"'})


def _comes_from_here(request: HttpRequest) -> bool:
    """Whether the request comes from this machine directly, not through a proxy.

    A proxy on this machine connects from here, too, and need not say for whom. So where people come in by another
    address than this machine's there may be one, and only the token counts.
    """
    try:
        host = urlsplit(f"//{request.get_host()}").hostname
    except DisallowedHost:  # a page elsewhere may have a name that leads here
        return False
    names = {host, urlsplit(settings.PUBLIC_URL).hostname}
    return names <= LOOPBACK and _is_loopback(request) and not any(name in request.headers for name in FORWARDED)


def _is_loopback(request: HttpRequest) -> bool:
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _plain(text: str, status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(text, "text/plain; charset=utf-8", status, headers=headers or {})

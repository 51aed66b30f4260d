"""Requests of a connector to a web API: retries transient errors, and reports the others clearly."""

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import sleep
from typing import Any

import httpx

from bigmind.core.load_once import load_once
from bigmind.network.addresses import is_packed, retry_after
from bigmind.network.http_clients import client_for, deadline
from knowledge.app_maps.connectors.contract import ConnectorError, RequestRefusedError

PAUSES = (1.0, 2.0, 4.0)
"""Seconds before each retry of a worker."""
HURRIED_PAUSES = (0.5,)
"""The same where someone waits."""
SECONDS_EACH = 30.0
"""How long one question and its whole answer may take a worker. What is slower is not asked again."""
HURRIED_SECONDS_EACH = 8.0
"""The same where someone waits."""
LONGEST_PAUSE = 30.0
LONGEST_HURRIED_PAUSE = 2.0
REPLY_BYTES = 32 * 1024 * 1024
_PASSES = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class WebApi:
    """One API below one address. `system`, `url_setting` and `key_setting` are for the words of its errors."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    system: str
    url_setting: str
    key_setting: str
    is_hurried: bool = False
    pause: Callable[[float], object] = sleep

    def ask(self, method: str, path: str, *, json: Any = None, headers: Mapping[str, str] | None = None) -> Any | None:
        """Return what the API answers as JSON, or None where there is no such thing.

        Raises:
            ConnectorError: it cannot answer; the text says why, and what to do.
        """
        reply = self._patiently(lambda: self._send(method, path, json, {**self.headers, **(headers or {})}))
        # A 404 that is no JSON comes from something else at this address. Taken for an answer, it would have rows and
        # tables forgotten that are there.
        if reply.status_code == httpx.codes.NOT_FOUND and _is_json(reply):
            return None
        self._refuse(reply)
        try:
            return reply.json()
        except ValueError as error:
            raise self._no_such_api("what it answers is no JSON") from error

    def _patiently(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Retry transient errors, after the time the server asks for if it is short enough."""
        longest = LONGEST_HURRIED_PAUSE if self.is_hurried else LONGEST_PAUSE
        for pause in HURRIED_PAUSES if self.is_hurried else PAUSES:
            try:
                reply = send()
            except httpx.TransportError as error:
                if _is_distrust(error):
                    break
                self.pause(pause)
                continue
            wait = max(pause, retry_after(reply.headers.get("retry-after", "")) or 0.0)
            if reply.status_code not in _PASSES or wait > longest:
                return reply
            self.pause(wait)
        try:
            return send()
        except httpx.TransportError as error:
            raise ConnectorError(self._unreachable(error)) from error

    def _send(self, method: str, path: str, json: Any, headers: Mapping[str, str]) -> httpx.Response:
        timeout = httpx.Timeout(5.0 if self.is_hurried else 20.0, connect=3.0 if self.is_hurried else 10.0)
        # A redirection is not followed: the key must not go anywhere else. Nor do a proxy or a .netrc of the
        # environment count; its certificates do, because own authorities are common within companies.
        trusted = _trust(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        client = client_for(self.url, verify=trusted)
        with deadline(HURRIED_SECONDS_EACH if self.is_hurried else SECONDS_EACH) as exchange:
            request = client.build_request(
                method,
                f"{self.url}/{path}",
                json=json,
                # Unpacked, a reply may have a thousand times the size that the limit counts.
                headers={"Accept-Encoding": "identity", **headers},
                timeout=timeout,
            )
            try:
                reply = client.send(request, stream=True)
                body = self._body_of(reply)
            except httpx.TransportError as error:
                if exchange.is_late:
                    raise ConnectorError(self._too_slow()) from error
                raise
            if exchange.is_late:
                raise ConnectorError(self._too_slow())
        return httpx.Response(reply.status_code, headers=reply.headers, content=body)

    def _body_of(self, reply: httpx.Response) -> bytes:
        """Read an answer up to a limit."""
        parts, read = [], 0
        try:
            if is_packed(reply):
                raise ConnectorError(f"{self.system} answers compressed, which was not asked for.")
            for part in reply.iter_raw():
                read += len(part)
                if read > REPLY_BYTES:
                    raise ConnectorError(f"{self.system} answered with more than {REPLY_BYTES:,} bytes.")
                parts.append(part)
        finally:
            reply.close()
        return b"".join(parts)

    def _refuse(self, reply: httpx.Response) -> None:
        status = reply.status_code
        if status in {401, 403}:
            raise ConnectorError(
                f"{self.system} refuses the key ({status}). Make one that may read the apps; set {self.key_setting}."
            )
        if reply.is_redirect:
            raise ConnectorError(
                f"{self.url} sends elsewhere ({status}). Set {self.url_setting} to where {self.system} itself answers."
            )
        if status == httpx.codes.NOT_FOUND:
            raise self._no_such_api(f"it answers {status}")
        if status == httpx.codes.TOO_MANY_REQUESTS:
            raise ConnectorError(f"{self.system} has been asked too often ({status}). Try again later.")
        if status >= 500:
            raise ConnectorError(f"{self.system} is in trouble ({status}). Try again later.")
        if status >= 400:
            raise RequestRefusedError(f"{self.system} does not take this request ({status}).")

    def _no_such_api(self, why: str) -> ConnectorError:
        return ConnectorError(f"There is no {self.system} at {self.url}: {why}. Look at {self.url_setting}.")

    def _too_slow(self) -> str:
        return f"{self.system} answers too slowly. Look whether {self.url} is well, or try again later."

    def _unreachable(self, error: httpx.TransportError) -> str:
        if isinstance(error, httpx.TimeoutException):
            return f"{self.system} did not answer in time. Look whether {self.url} is up, or try again later."
        if _is_distrust(error):
            return (
                f"The certificate of {self.url} is not trusted. Let the server show its whole chain, or point "
                "SSL_CERT_FILE to the certificate of your own authority."
            )
        return f"{self.system} cannot be reached at {self.url}. Look at {self.url_setting}."


@load_once
def _trust(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Read the trusted certificates, once per environment: that takes longer than a request."""
    return httpx.create_ssl_context()


def _is_json(reply: httpx.Response) -> bool:
    return "json" in reply.headers.get("content-type", "")


def _is_distrust(error: BaseException) -> bool:
    """Whether TLS failed: retrying does not improve a certificate."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return "CERTIFICATE_VERIFY_FAILED" in str(error)

"""A provider of OpenID Connect on this machine: discovery, keys, authorization with PKCE, tokens and userinfo."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.local_server import serve_http

CLIENT_ID = "bigmind"
CLIENT_SECRET = "a secret between the two"
KEY_ID = "2026"


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


KEY, FORGED_KEY = _new_key(), _new_key()


@dataclass
class OutsideProvider:
    """What the provider says of whoever comes, and how it misbehaves.

    Attributes:
        claims: What the id_token says of the person.
        userinfo: What the userinfo endpoint says; like the id_token where nothing is given.
        changes: What is changed in the id_token after all, such as another audience.
        key: What it is signed with.
        algorithm: How it is signed.
        broken: Paths that answer with an error of the server.
        nonsense: Paths that answer with something else than JSON.
        cancels: Whether the person declines.
    """

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    key: Any = KEY
    algorithm: str = "RS256"
    broken: set[str] = field(default_factory=set)
    nonsense: set[str] = field(default_factory=set)
    cancels: bool = False
    asked: list[dict[str, str]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def discovery(self) -> dict[str, Any]:
        """Where everything is."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def keys(self) -> dict[str, Any]:
        """The public key."""
        public = json.loads(RSAAlgorithm.to_jwk(KEY.public_key()))
        return {"keys": [{**public, "kid": KEY_ID, "use": "sig", "alg": "RS256"}]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser goes: back, with a code or with an error."""
        self.asked.append(asked)
        if self.cancels:
            return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"
        code = uuid4().hex
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, said: dict[str, str]) -> dict[str, Any] | None:
        """Exchange a code, once, for whoever has the secret and the verifier; None for everybody else."""
        asked = self.codes.pop(said.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(said.get("code_verifier", "").encode()).digest())
        if asked is None or asked["code_challenge"] != challenge.rstrip(b"=").decode():
            return None
        if (said.get("client_id"), said.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return None
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")}
        signed = {key: value for key, value in {**claims, **self.claims, **self.changes}.items() if value is not None}
        id_token = jwt.encode(signed, self.key, algorithm=self.algorithm, headers={"kid": KEY_ID})
        return {"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": id_token}


@contextmanager
def outside_provider() -> Iterator[OutsideProvider]:
    """Run a provider on a port of its own."""
    provider = OutsideProvider()

    class Answers(BaseHTTPRequestHandler):
        """The endpoints."""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(dict(parse_qsl(parts.query))))
                self.end_headers()
                return
            told = provider.claims if provider.userinfo is None else provider.userinfo
            pages = {"/.well-known/openid-configuration": provider.discovery(), "/keys": provider.keys()}
            self._answer(parts.path, {**pages, "/userinfo": told}.get(parts.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(self.path, provider.token(dict(parse_qsl(body))) if self.path == "/token" else None)

        def _answer(self, path: str, said: dict[str, Any] | None) -> None:
            status = 500 if path in provider.broken else 200 if said is not None else 400
            text = "<h1>Welcome</h1>" if path in provider.nonsense else json.dumps(said or {"error": "invalid_grant"})
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with serve_http(Answers) as server:
        provider.url = f"http://localhost:{server.server_port}"
        yield provider

"""The site of an app: an https server on this machine that answers with the app's document."""

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class Site:
    """What the server answers at `/app.json`, and how often it was asked."""

    url: str
    certificate: Path
    document: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    asked: int = 0

    @property
    def trusted(self) -> dict[str, Any]:
        """The settings that let this server be asked."""
        return {"may_be_private": True, "verify": ssl.create_default_context(cafile=str(self.certificate))}


@contextmanager
def site(folder: Path, redirect_uri: str) -> Iterator[Site]:
    """Serve the document of an app that may send people back to `redirect_uri`."""
    certificate = _certificate(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    found = Site(f"https://localhost:{server.server_port}/app.json", certificate)
    found.document = {"client_id": found.url, "client_name": "Documented app", "redirect_uris": [redirect_uri]}
    server.site = found  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found: Site = self.server.site  # type: ignore[attr-defined]
        found.asked += 1
        body = found.document if isinstance(found.document, bytes) else json.dumps(found.document).encode()
        self.send_response(found.status)
        for name, text in found.headers.items():
            self.send_header(name, text)
        self.end_headers()
        for begin in range(0, len(body), 1000):
            self.wfile.write(body[begin : begin + 1000])
            time.sleep(found.pause)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _certificate(folder: Path) -> Path:
    """Make a certificate for this machine, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "site.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path

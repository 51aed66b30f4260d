"""The examples of reverse proxies, each in front of a running BigMind: pages, REST, MCP, streams and large bodies."""

import os
import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.embedded.instance import CopiedInstance, Instance, eventually, free_port
from tests.growing.server import ROOT
from tests.transports.test_mcp_listening import HEADERS, LISTEN

PROXIES = ROOT / "packaging" / "proxies"
NAME = "bigmind.example.com"
PUBLIC = f"https://{NAME}"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def certificate(folder: Path) -> Path:
    """Make a certificate, its key beside it, and a file with both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)]), datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "bigmind.key").write_bytes(secret)
    (folder / "bigmind-with-key.pem").write_bytes(public + secret)
    (folder / "bigmind.pem").write_bytes(public)
    return folder / "bigmind.pem"


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Instance]:
    """Yield a BigMind that is reached by another name than its own."""
    variables = {"BIGMIND_PUBLIC_URL": PUBLIC, "BIGMIND_MODE": "team", "BIGMIND_EMBEDDING_PROVIDER": "hashing"}
    instance = CopiedInstance.prepare(folder / "home", **variables, BIGMIND_WEB_PROCESSES="1").start()
    yield instance
    instance.hurry()


@contextmanager
def proxy(kind: str, folder: Path, running: Instance) -> Iterator[tuple[int, int]]:
    """Run the example, with other ports and files, and yield the ports of http and https."""
    plain, secure = free_port(), free_port()
    example = next(PROXIES.glob(f"{kind}*" if kind != "caddy" else "Caddyfile")).read_text()
    example = example.replace("/etc/ssl/", f"{folder}/").replace("127.0.0.1:7700", f"127.0.0.1:{running.port}")
    home = Path(tempfile.mkdtemp(dir=folder))
    file = home / "example"
    match kind:
        case "nginx":
            ports = example.replace("listen 80;", f"listen {plain};").replace("listen 443", f"listen {secure}")
            paths = [f"{one}_temp_path {home};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]
            file.write_text(
                f"pid {home}/pid; error_log stderr; master_process off; daemon off; user root;\n"
                f"events {{}}\nhttp {{ access_log off; {' '.join(paths)}\n{ports} }}"
            )
            command = ["nginx", "-c", str(file), "-p", str(home)]
        case "caddy":
            own = f"{{\nadmin off\nhttp_port {plain}\nhttps_port {secure}\n}}\n"
            tls = f"tls {folder}/bigmind.pem {folder}/bigmind.key"
            file.write_text(own + example.replace(" {\n", f" {{\n{tls}\n", 1))
            command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
        case _:
            file.write_text(example.replace(":80\n", f":{plain}\n").replace(":443 ", f":{secure} "))
            command = ["haproxy", "-db", "-f", str(file)]
    environment = {**os.environ, "HOME": str(home), "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    with (home / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        with client(secure) as trial:
            eventually(lambda: trial.get("/healthz").status_code == 200 or process.poll() is not None, within=90)
        assert process.poll() is None, (home / "log").read_text()
        yield plain, secure
    finally:
        process.kill()  # Caddy would wait for streams that are still open.
        process.wait(20)


def client(port: int, key: str = "") -> httpx.Client:
    """Return a client that asks for the public name, as if it led here."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    class Here(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            extensions = {**request.extensions, "sni_hostname": NAME}
            url = request.url.copy_with(host="127.0.0.1", port=port)
            sent = httpx.Request(
                request.method, url, headers=request.headers, stream=request.stream, extensions=extensions
            )
            return super().handle_request(sent)

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(transport=Here(verify=trusting), base_url=PUBLIC, headers=headers, timeout=30)


@pytest.mark.parametrize("kind", ["nginx", "caddy", "haproxy"])
def test_everything_works_behind_the_proxy(kind: str, folder: Path, certificate: Path, running: Instance) -> None:
    if shutil.which(kind, path=f"{os.environ['PATH']}:/usr/sbin") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{kind} is missing")
    with proxy(kind, folder, running) as (plain, secure), client(secure, running.key) as agent:
        # Nobody stays with http, and the method and the address are kept.
        with client(plain) as insecure:
            sent = insecure.post("http://" + NAME + "/api/v1/facts/?a=b")
            assert sent.status_code == 308
            assert re.fullmatch(rf"https://{NAME}(:\d+)?/api/v1/facts/\?a=b", sent.headers["Location"])

        # A page: cookies are for https alone, and a form from here is taken.
        with client(secure) as browser:
            page = browser.get("/sign-in/")
            assert "Secure" in page.headers["Set-Cookie"]
            assert "max-age" in page.headers["Strict-Transport-Security"]
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
            form = {"csrfmiddlewaretoken": token, "username": "nobody", "password": "wrong"}
            answer = browser.post("/sign-in/", data=form, headers={"Origin": PUBLIC, "Referer": f"{PUBLIC}/sign-in/"})
            assert answer.status_code == 422  # The password is wrong, the form is ours.
            refused = browser.post("/sign-in/", data=form, headers={"Origin": "https://other.example.com"})
            assert refused.status_code == 403

        # REST, and a refusal of a large body in BigMind's words and not the proxy's.
        stored = agent.post("/api/v1/facts/", json={"fact": f"Behind {kind} it works.", "category": "decision"})
        assert stored.status_code == 201, stored.text
        large = agent.post("/api/v1/facts/", json={"fact": "x" * 3_000_000, "category": "decision"})
        assert large.status_code == 413
        assert large.headers["Content-Type"].startswith(("application/json", "application/problem+json"))

        # A stream over MCP: each line comes when it is written.
        accepted = {**HEADERS, "Accept": "application/json, text/event-stream"}
        with agent.stream("POST", "/mcp", json=LISTEN, headers=accepted) as stream:
            assert stream.status_code == 200, stream.read()
            lines = (line for line in stream.iter_lines() if line.startswith("data: {"))
            assert "subscriptions/acknowledged" in next(lines)
            with client(secure, running.key) as other:
                note = {"domain": "email", "key": "rules", "content": f"Heard through {kind}."}
                assert other.put("/api/v1/notes/", json=note).is_success
            assert '"notifications/' in next(lines)

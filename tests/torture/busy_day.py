"""A busy day (T11): every secret there is, made every way there is, used well and badly; and where to look for them."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil

from accounts.keys import new_key_text
from tests.accounts.codes import code_of, secret_on
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, OutsideProvider, outside_provider
from tests.curation.company import Company, answering
from tests.embedded.instance import Instance, command, eventually
from tests.knowledge.budibase_server import KEY as BUDIBASE_KEY
from tests.knowledge.budibase_server import Budibase
from tests.knowledge.embeddings.endpoint import Endpoint
from tests.serving import Served
from tests.torture.scale import PATIENCE
from tests.torture.vectors import RIGHT, settings_for
from tests.transports.collector import Collector, collecting
from tests.transports.mcp_wire import Wire
from tests.transports.oauth_wire import App, Browser

USER = "ada"
PASSWORD = "seven herons over the quay"
OTHER_PASSWORD = "nine otters under the pier"
WEBHOOK_SECRET = "webhook-secret-of-this-very-day"
METRICS_TOKEN = "metrics-token-of-this-very-day"
JSON = {"Content-Type": "application/json"}
EMBEDDING_KEY = "sk-embedding-key-of-this-very-day"

# Settings that hold a secret, which this day does not use: why.
NOT_USED = {
    "database_url": "the embedded server has its own, the file `pgpass`: the day looks for that",
    "database_owner_url": "of another PostgreSQL than the embedded one",
    "database_replica_url": "of a second server, which the day does not have",
    "secret_key_fallbacks": "former secret keys; none was renewed",
    "redis_url": "a server of the tests' own, which asks for no password",
    "email_url": "a mail server that asks for a password must speak TLS; no test has one",
}


@dataclass
class Outside:
    """The servers that BigMind shows its own secrets to."""

    company: Company
    budibase: Budibase
    embedder: Endpoint
    provider: OutsideProvider
    collector: Collector
    webhook: "Webhook"

    def variables(self) -> dict[str, str]:
        """Return the settings by which BigMind knows them."""
        return {
            **settings_for(self.embedder),
            "BIGMIND_EMBEDDING_API_KEY": EMBEDDING_KEY,
            "BIGMIND_COMPANY_URL": self.company.url,
            "BIGMIND_BUDIBASE_URL": self.budibase.url,
            "BIGMIND_BUDIBASE_API_KEY": BUDIBASE_KEY,
            "BIGMIND_OIDC_ISSUER": self.provider.url,
            "BIGMIND_OIDC_CLIENT_ID": CLIENT_ID,
            "BIGMIND_OIDC_CLIENT_SECRET": CLIENT_SECRET,
            "BIGMIND_OIDC_JOIN": "anybody",
            "BIGMIND_OIDC_ALLOWED_DOMAINS": "example.com",
            "BIGMIND_OTLP_ENDPOINT": self.collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "BIGMIND_WEBHOOK_URL": self.webhook.url,
            "BIGMIND_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "BIGMIND_WEBHOOK_PRIVATE": "on",
            "BIGMIND_METRICS_TOKEN": METRICS_TOKEN,
        }


@dataclass
class Webhook:
    """What was sent to the webhook."""

    url: str = ""
    signatures: list[str] = field(default_factory=list)


@contextmanager
def outside() -> Iterator[Outside]:
    """Run all of them."""
    with ExitStack() as running:
        provider = running.enter_context(outside_provider())
        provider.claims = {"sub": "4711", "email": "eve@example.com", "email_verified": True}
        yield Outside(
            company=running.enter_context(answering(Company())),
            budibase=running.enter_context(Budibase()),
            embedder=running.enter_context(Endpoint(RIGHT)),
            provider=provider,
            collector=running.enter_context(collecting()),
            webhook=running.enter_context(running_webhook()),
        )


@contextmanager
def running_webhook() -> Iterator[Webhook]:
    """Run a server that takes webhook messages."""
    webhook = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            webhook.signatures.append(self.headers.get("webhook-signature", ""))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *said: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    webhook.url = f"http://127.0.0.1:{server.server_port}/told"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield webhook
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def command_lines() -> Iterator[set[str]]:
    """Write down the command line of every process on this machine, again and again."""
    seen: set[str] = set()
    over = Event()

    def watch() -> None:
        while not over.wait(0.1):
            for process in psutil.process_iter(["cmdline"]):
                seen.add(" ".join(process.info["cmdline"] or ()))

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


class BusyDay:
    """One day of one BigMind. `secrets` holds what was used, each once it has opened something."""

    def __init__(self, instance: Instance, outside: Outside, variables: dict[str, str], init_key: str) -> None:
        self.instance = instance
        self.outside = outside
        self.variables = variables
        self.init_key = init_key
        self.secrets: dict[str, str] = {}
        self.replies: list[str] = []
        self.served = Served(instance.url, instance.environment, instance.home / "logs" / "web.log")

    def pass_by(self) -> None:
        """Let all of it happen."""
        for happens in (self.keys, self.people, self.apps, self.second_factor, self.machines, self.mistakes):
            happens()

    # --- what opens something -------------------------------------------------------------------------------------

    def keys(self) -> None:
        """Make keys every way there is, and use each over REST and MCP."""
        self._use_key("init_key", self.init_key)
        browser = self._signed_in()
        self.secrets["init_password"] = PASSWORD
        self.secrets["session"] = browser.cookies["bigmind_session"]
        made = _sent(browser, "/keys/new/", label="page", scopes=["read", "write"], lifetime="")
        self._use_key("key of a page", _key_on(made.text))
        number = re.search(r"/keys/([0-9a-f-]{36})/", str(made.url))
        assert number is not None
        rotated = _sent(browser, f"/keys/{number[1]}/rotate/", overlap="24")
        self._use_key("key rotated on a page", _key_on(rotated.text))
        printed = self._command("key_create", USER, "--label", "line", "--quiet").strip()
        self._use_key("key of the command line", printed)
        self._use_key(
            "key rotated on the command line", self._command("key_rotate", printed[:8]).strip().splitlines()[0]
        )

    def people(self) -> None:
        """Invite somebody, who joins at the second try; sign in by a link, and with the company's own sign-in."""
        browser = self._signed_in()
        made = _sent(browser, "/people/invite/", name="Grace", email="grace@example.com", role="member")
        link = re.search(r"/invitation/([\w-]+)/", made.text)
        assert link is not None
        guest = self._browser()
        said = {"username": "grace", "display_name": "Grace"}
        short = _sent(guest, link[0], **said, password="short", again="short")
        assert short.status_code == 422
        self.replies.append(guest.post(link[0], data=said).text)
        joined = _sent(guest, link[0], **said, password=OTHER_PASSWORD, again=OTHER_PASSWORD)
        assert joined.url.path == "/welcome/", joined.text
        self.secrets |= {"invitation": link[1], "password of another": OTHER_PASSWORD}
        printed = json.loads(self._command("sign_in_link", USER, "--json"))["url"]
        comes = self._browser()
        self.replies.append(comes.post(urlsplit(printed).path).text)
        _sent(comes, urlsplit(printed).path)
        assert comes.get("/keys/").url.path == "/keys/"
        self.secrets["sign-in link"] = urlsplit(printed).path.strip("/").rpartition("/")[2]
        with self._browser() as company:
            assert company.get("/sign-in/sso/?next=/sign-ins/").url.path == "/sign-ins/"
        self.secrets["oidc_client_secret"] = CLIENT_SECRET

    def apps(self) -> None:
        """Let an app in, which exchanges its code and refreshes its token."""
        app = App(self.served)
        browser = SignedIn(self.served, self._signed_in())
        code = browser.way_back(app.page())["code"]
        first = app.exchange(code).json()
        second = app.refresh(first["refresh_token"]).json()
        assert app.call(second["access_token"]).status_code == 200
        self.secrets |= {"code of an app": code, "verifier of an app": app.verifier}
        for number, pair in enumerate((first, second)):
            self.secrets |= {f"{kind} {number}": pair[kind] for kind in ("access_token", "refresh_token")}

    def second_factor(self) -> None:
        """Set up a second factor, and come in with a recovery code."""
        browser = self._signed_in("grace", OTHER_PASSWORD)
        secret = secret_on(browser.get("/second-factor/set-up/").text)
        page = _sent(browser, "/second-factor/set-up/", code=code_of(secret), password=OTHER_PASSWORD)
        codes = re.findall(r"<li><code>([\w -]+)</code></li>", page.text)
        assert len(codes) > 5, page.text
        again = self._browser()
        _sent(again, "/sign-in/", username="grace", password=OTHER_PASSWORD)
        _sent(again, "/sign-in/code/", code=codes[0])
        assert again.get("/keys/").url.path == "/keys/"
        self.secrets |= {"secret of a second factor": secret, "secret of it, as apps take it": secret.replace(" ", "")}
        self.secrets |= {"recovery code": codes[0], "another recovery code": codes[1]}

    def machines(self) -> None:
        """Let BigMind show its own secrets to the servers it talks to."""
        self._command("company_sync")
        company_key = self.variables["BIGMIND_COMPANY_KEY"]
        assert f"Bearer {company_key}" in self.outside.company.keys
        self._ask("POST", "apps/bootstrap/", {"connector": "budibase"})
        eventually(lambda: BUDIBASE_KEY in str(self.outside.budibase.headers), PATIENCE)
        eventually(lambda: self._embedder_was_shown_its_key(), PATIENCE)
        told = {"category": "standard", "title": "Tides", "content": "The tide table is at the harbour office."}
        self._ask("POST", "company/", told)
        eventually(lambda: any(self.outside.webhook.signatures), PATIENCE)
        metrics = httpx.get(f"{self.instance.url}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
        assert metrics.status_code == 200
        self.replies.append(metrics.text)
        self.secrets |= {
            "company_key": company_key,
            "budibase_api_key": BUDIBASE_KEY,
            "embedding_api_key": EMBEDDING_KEY,
            "webhook_secret": WEBHOOK_SECRET,
            "metrics_token": METRICS_TOKEN,
            "secret_key": (self.instance.home / "secret_key").read_text().strip(),
            "password of the database": _password_of_the_database(self.instance.home),
        }

    def _embedder_was_shown_its_key(self) -> bool:
        return any(asked["key"] == f"Bearer {EMBEDDING_KEY}" for asked in self.outside.embedder.requests)

    # --- what should not be done ------------------------------------------------------------------------------------

    def mistakes(self) -> None:
        """Put secrets where they do not belong, and make every kind of error with them."""
        key = self.secrets["key of a page"]
        broken = f'{{"fact": "{key}'
        self._told(lambda: self._send("GET", f"/api/v1/facts/?api_key={key}"), 422)
        self._told(lambda: self._send("GET", f"/api/v1/{key}/"), 404)
        self._told(lambda: self._send("GET", f"/sign-in/{key}/?token={key}"), 410)
        self._told(lambda: self._send("GET", f"/u/{key}/?next=/{key}", cookies=self._signed_in().cookies), 404)
        self._told(lambda: self._send("POST", "/api/v1/facts/", content=broken.encode(), headers=JSON), 400)
        self._told(lambda: self._send("POST", "/api/v1/facts/", json={key: key, "category": key}), 422)
        self._told(lambda: self._send("PUT", "/api/v1/facts/", json={"fact": key}), 405)
        self._told(lambda: self._send("POST", "/api/v1/facts/", json={"fact": "x" * 70_000 + key}), 422)
        self._told(lambda: self._send("GET", "/api/v1/facts/", headers={"X-Request-Id": key}), 200)
        self._told(lambda: self._send("GET", "/api/v1/facts/", headers={"Authorization": f"Bearer {key}x"}), 401)
        self._told(lambda: self._send("GET", "/api/v1/facts/", headers={"Authorization": f"Basic {key}"}), 401)
        self._ask("POST", "facts/", {"category": "identity", "fact": f"The laptop of Ada shows {key} to the server."})
        self._ask("POST", "hypotheses/", {"hypothesis": f"The password of Grace might be password={OTHER_PASSWORD}"})
        self._ask("GET", f"search/?query=which+agent+uses+{key}")
        wire = Wire(self.served, key)
        # What an error of MCP says is not looked at: it names the tool or address that was asked for to whoever did.
        wire.send("tools/call", {"name": "memory_store_fact", "arguments": {key: key}})
        wire.send("tools/call", {"name": key, "arguments": {}})
        wire.send(key)
        wire.send("resources/read", {"uri": f"bigmind://{key}"})
        for _ in range(2):
            # People type a password where their name belongs.
            page = _sent(self._browser(), "/sign-in/", username=OTHER_PASSWORD, password=PASSWORD[:-1])
            assert page.status_code == 422
        _sent(self._browser(), "/sign-in/", username=USER, password=f"{PASSWORD} ")

    def _told(self, ask: Callable[[], httpx.Response], status: int) -> None:
        answer = ask()
        assert answer.status_code == status, (status, answer.status_code, answer.text[:500])
        # A page may name its own address: that was sent to it.
        own = answer.request.url.raw_path.decode()
        self.replies.append(f"{answer.headers}\n{unescape(answer.text).replace(own, '')}")

    # --- by what means ------------------------------------------------------------------------------------------------

    def _send(self, method: str, path: str, **said: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.secrets['key of a page']}", **said.pop("headers", {})}
        with httpx.Client(base_url=self.instance.url, timeout=PATIENCE, cookies=said.pop("cookies", None)) as client:
            return client.request(method, path, headers=headers, **said)

    def _ask(self, method: str, path: str, body: Any = None) -> None:
        answer = self._send(method, f"/api/v1/{path}", json=body)
        assert answer.is_success, answer.text
        self.replies.append(answer.text)

    def _use_key(self, name: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{self.instance.url}/api/v1/facts/", headers=headers, timeout=PATIENCE).status_code == 200
        assert Wire(self.served, key).send("tools/list").status_code == 200
        self.secrets[name] = key

    def _command(self, *words: str) -> str:
        done = command(self.instance.home, *words, **self.variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _browser(self) -> httpx.Client:
        return httpx.Client(base_url=self.instance.url, timeout=PATIENCE, follow_redirects=True)

    def _signed_in(self, username: str = USER, password: str = PASSWORD) -> httpx.Client:
        browser = self._browser()
        _sent(browser, "/sign-in/", username=username, password=password)
        assert browser.get("/keys/").url.path == "/keys/"
        return browser


class SignedIn(Browser):
    """A browser in which somebody has signed in on the page."""

    def __init__(self, served: Served, http: httpx.Client) -> None:
        self.served, self.http = served, http


def _sent(browser: httpx.Client, path: str, **fields: Any) -> httpx.Response:
    """Open the page of a form, fill it in and send it."""
    page = browser.get(path)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token is not None, page.text
    return browser.post(str(page.url), data={**fields, "csrfmiddlewaretoken": token[1]})


def _key_on(page: str) -> str:
    found = re.search(r"\bbm_\w{20,}", page)
    assert found is not None, page
    return found[0]


def _password_of_the_database(home: Path) -> str:
    return (home / "pgpass").read_text().strip().rpartition(":")[2]


def init_variables() -> dict[str, str]:
    """Return the settings by which the first user comes to a password and a key, and what the day is logged with."""
    return {
        # A company server is a matter of one person; the doors of many people are open there as well.
        "BIGMIND_MODE": "personal",
        "BIGMIND_OAUTH": "on",
        "BIGMIND_INIT_USER": USER,
        "BIGMIND_INIT_PASSWORD": PASSWORD,
        "BIGMIND_INIT_KEY": new_key_text(),
        "BIGMIND_COMPANY_KEY": new_key_text(),
        "BIGMIND_SECRETS": "redact",
        "BIGMIND_LOG_LEVEL": "DEBUG",
        "BIGMIND_LOG_FORMAT": "json",
        "BIGMIND_SLOW_MS": "1",
    }

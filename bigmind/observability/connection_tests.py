"""Connection tests for admins: each reports what it found, and the next step where it failed."""

import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage

from accounts.actor import Actor
from accounts.services.audit import audit
from accounts.services.connection_tests import count_test
from bigmind.core.errors import NotFound
from bigmind.core.translation import _, write_number
from bigmind.text.hygiene import one_line, show_hidden
from curation.notifications.webhook_requests import environment_webhook
from curation.notifications.webhooks import try_webhook
from curation.upstream.company_client import Away, CompanyWire, TurnedDown
from knowledge.embeddings.providers import EmbedderError, provider
from knowledge.search.reranker import RerankerError, ask_order

EMBED_SECONDS = 10.0
SAMPLE = "Deploys happen on Tuesdays, after the stand-up."
ANSWER_SHOWN = 500
_RESULTS = {"ok": "it worked", "failed": "it failed", "off": "it is not set up"}


@dataclass(frozen=True)
class ConnectionOutcome:
    """The result of a test.

    Attributes:
        state: `ok`, `failed`, or `off` where nothing is configured to be tested.
        next_step: What to do now.
    """

    state: str
    summary: str
    next_step: str = ""
    seen: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class ConnectionTest:
    """A connection that can be tested: its configuration, and the function that tests it."""

    name: str
    title: str
    icon: str
    target: str
    run: Callable[[Actor], ConnectionOutcome]


def list_tests(actor: Actor) -> list[ConnectionTest]:
    """Return the connections that can be tested. For admins."""
    actor.require("admin")
    webhook = environment_webhook()
    mail = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}" if settings.EMAIL_HOST else ""
    company = urlsplit(settings.COMPANY_URL).netloc
    return [
        ConnectionTest("mail", _("Mail"), "mail", mail, _test_mail),
        ConnectionTest("webhook", _("Webhook"), "external", webhook.host if webhook else "", _test_webhook),
        ConnectionTest("embedder", _("Embedder"), "bolt", _embedder_name(), _test_embedder),
        ConnectionTest("reranker", _("Reranker"), "bolt", urlsplit(settings.RERANK_URL).netloc, _test_reranker),
        ConnectionTest("company", _("Company server"), "company", company, _test_company),
    ]


def run_test(actor: Actor, name: str) -> ConnectionOutcome:
    """Run one test and record it in the audit log. It takes a few seconds at most. For admins.

    Raises:
        NotFound: there is no such test.
        TooMany: they ran too many in this minute.
    """
    found = next((one for one in list_tests(actor) if one.name == name), None)
    if found is None:
        raise NotFound(_("There is no such test."))
    count_test(actor)
    began = perf_counter()
    report = found.run(actor)
    audit("connection_tested", what=found.title, result=_RESULTS[report.state])
    return ConnectionOutcome(report.state, report.summary, report.next_step, report.seen, perf_counter() - began)


def _test_mail(actor: Actor) -> ConnectionOutcome:
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    if not settings.EMAIL_HOST:
        return ConnectionOutcome("off", _("No mail server is set."), _("Set BIGMIND_EMAIL_URL and restart BigMind."))
    if not actor.user.email:
        return ConnectionOutcome(
            "failed",
            _("You have no e-mail address here."),
            _("Add it on the page Notices."),
        )
    text = _("This is a test from BigMind at %(PUBLIC_URL)s. Mail works.\n") % {"PUBLIC_URL": settings.PUBLIC_URL}
    message = EmailMessage(_("BigMind test mail"), text, settings.DEFAULT_FROM_EMAIL, [actor.user.email])
    seen = [(_("Server"), server), (_("From"), settings.DEFAULT_FROM_EMAIL), (_("To"), actor.user.email)]
    try:
        message.send()
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        return ConnectionOutcome("failed", *_explain_mail_error(error, server, actor.user.email), seen)
    return ConnectionOutcome(
        "ok",
        _("%(server)s accepted a mail to %(email)s.") % {"server": server, "email": actor.user.email},
        _("Look into your inbox."),
        seen,
    )


def _explain_mail_error(error: Exception, server: str, email: str) -> tuple[str, str]:
    """Return what went wrong, and the next step."""
    match error:
        case smtplib.SMTPAuthenticationError():
            values = {"server": server, "smtp_code": error.smtp_code}
            why = _("%(server)s refuses the user name or password (%(smtp_code)s).") % values
            return why, _("Look at BIGMIND_EMAIL_URL.")
        case smtplib.SMTPRecipientsRefused():
            why = _("%(server)s does not accept %(email)s.") % {"server": server, "email": email}
            return why, _("Check the address, and whom the server relays for.")
        case smtplib.SMTPSenderRefused():
            values = {"server": server, "DEFAULT_FROM_EMAIL": settings.DEFAULT_FROM_EMAIL}
            why = _("%(server)s does not accept the sender %(DEFAULT_FROM_EMAIL)s.") % values
            return why, _("Set BIGMIND_EMAIL_FROM.")
        case ssl.SSLError():
            values = {"server": server, "what": error.reason or type(error).__name__}
            why = _("%(server)s does not speak TLS as expected (%(what)s).") % values
            return why, _("Use smtp:// for STARTTLS, usually on port 587, and smtps:// for TLS, usually on port 465.")
    why = _("%(server)s does not answer (%(name)s).") % {"server": server, "name": type(error).__name__}
    return why, _("Check host and port in BIGMIND_EMAIL_URL, and whether a firewall is between.")


def _test_webhook(_actor: Actor) -> ConnectionOutcome:
    target = environment_webhook()
    if target is None:
        return ConnectionOutcome(
            "off", _("No webhook is set."), _("Set BIGMIND_WEBHOOK_URL and BIGMIND_WEBHOOK_SECRET.")
        )
    tried = try_webhook(target)
    return ConnectionOutcome("ok" if tried.ok else "failed", tried.summary, tried.next_step, tried.seen)


def _test_embedder(_actor: Actor) -> ConnectionOutcome:
    try:
        embedder = provider()
        began = perf_counter()
        vectors = embedder.embed([SAMPLE], timeout=EMBED_SECONDS)
        milliseconds = (perf_counter() - began) * 1000
    except ImproperlyConfigured as error:
        return ConnectionOutcome("failed", str(error), _("Complete the settings of embeddings and restart BigMind."))
    except EmbedderError as error:
        reason = one_line(show_hidden(str(error)))[:ANSWER_SHOWN]
        step = _("Check BIGMIND_EMBEDDING_URL, its model and its key. Search goes on by keyword meanwhile.")
        return ConnectionOutcome("failed", _("The embedder made no vector: %(reason)s") % {"reason": reason}, step)
    seen = [
        (_("Model"), embedder.space.rpartition(":")[0]),
        (_("Dimensions"), write_number(len(vectors[0]))),
        (_("Time for one text"), f"{milliseconds:,.0f} ms"),
    ]
    return ConnectionOutcome(
        "ok", _("It made a vector of %(what)s dimensions.") % {"what": write_number(len(vectors[0]))}, "", seen
    )


def _test_reranker(_actor: Actor) -> ConnectionOutcome:
    if not settings.RERANK_URL:
        return ConnectionOutcome("off", _("No reranker is set."), _("Set BIGMIND_RERANK_URL and restart BigMind."))
    began = perf_counter()
    try:
        ask_order(SAMPLE, [SAMPLE, "Ferries leave at nine."])
    except RerankerError as error:
        step = _("Check BIGMIND_RERANK_URL, its model and its key. Search goes on in its own order meanwhile.")
        return ConnectionOutcome("failed", _("There is no other order: %(reason)s") % {"reason": error}, step)
    seen = [(_("Time for two texts"), f"{(perf_counter() - began) * 1000:,.0f} ms")]
    return ConnectionOutcome("ok", _("It put two texts in order."), "", seen)


def _test_company(_actor: Actor) -> ConnectionOutcome:
    if not settings.COMPANY_URL:
        return ConnectionOutcome(
            "off", _("No company server is set."), _("Set BIGMIND_COMPANY_URL and BIGMIND_COMPANY_KEY.")
        )
    host = urlsplit(settings.COMPANY_URL).netloc
    try:
        approved = CompanyWire.from_settings().count_approved()
    except Away as error:
        return ConnectionOutcome(
            "failed",
            _("%(host)s: %(error)s") % {"host": host, "error": error},
            _("Check BIGMIND_COMPANY_URL, and that the server runs."),
        )
    except TurnedDown as error:
        return ConnectionOutcome(
            "failed",
            _("%(host)s: %(error)s") % {"host": host, "error": error},
            _("Make a new key there, with the scopes read and write."),
        )
    seen = [(_("Approved entries"), write_number(approved))]
    return ConnectionOutcome("ok", _("%(host)s answers, and accepts the key.") % {"host": host}, "", seen)


def _embedder_name() -> str:
    try:
        return provider().space
    except ImproperlyConfigured:
        return "not configured"

"""What people read is in their language: German is complete, and no page shows a text that cannot be translated."""

import ast
import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.db import models
from django.test import Client
from django.urls import get_resolver
from django.utils import translation
from django.utils.safestring import SafeData, mark_safe
from django.utils.translation.template import templatize

from accounts.actor import Actor
from accounts.connecting.supported_clients import CLIENTS
from accounts.models import User
from accounts.people.invitations import invite
from bigmind import navigation
from bigmind.core.sentences import CONTEXT, MOST_TRIED, SentenceTemplate, in_language, templates_in
from bigmind.privacy.injections import SIGNS
from bigmind.web import constants, forms
from curation.decisions.overlaps import compare_proposals
from curation.models import Notice, Overlap
from curation.proposals.proposals import promote_to_global
from curation.templatetags import curation as queue_tags
from devtools.sentences import sentences, words_of_tables
from tests.browser.fernwood import make_fernwood
from tests.browser.test_pictures import _addresses
from tests.curation.factories import decide_at_latest, propose
from tests.factories import browser_of, make_actor, make_key
from tests.knowledge.factories import make_fact

ROOT = Path(__file__).parents[2]
PACKAGES = ("accounts", "bigmind", "curation", "knowledge")
CATALOGUE = ROOT / "locale" / "de" / "LC_MESSAGES" / "django"
_FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
_MAY_CALL = re.compile(r"\b_\(|gettext\(|gettext_\w+\(")
_IN_TEMPLATE = re.compile(r"\b(_|gettext|ngettext)\(u?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w*\}|<[^>]+>")
_ATTRIBUTES = ("title", "aria-label", "placeholder", "alt")
_NOT_READ = {"script", "style", "code", "pre", "kbd", "time", "svg", "textarea", "template"}
_NO_TEXT = {"script", "style", "template"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_COUNTED = re.compile(r"{% blocktranslate[^%]* count \w+=([^ %]+)([^%]*)%}")
_MIGRATION = re.compile(r"\w+ \d{4}_\w+")
_WORD = re.compile(r"[^\W\d_]{2,}")


# It reads all the code, which takes a second.
_sentences_of_code = cache(sentences)


def _messages_of_code() -> Iterator[str]:
    texts = (path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    for text in texts:
        for node in ast.walk(ast.parse(text)) if _MAY_CALL.search(text) else ():
            if isinstance(node, ast.Call) and _name_of(node.func) in _FUNCTIONS:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value


def _name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _messages_of_templates() -> Iterator[str]:
    for path in (*(ROOT / "templates").rglob("*.html"), *(ROOT / "templates").rglob("*.txt")):
        for _, said in _IN_TEMPLATE.findall(templatize(path.read_text(encoding="utf-8"))):
            yield ast.literal_eval(said)


def _read_catalogue(text: str) -> dict[str | tuple[str, int], str]:
    """Return the messages of a file of translations as `gettext` keeps them: those with plurals by their number."""
    found: dict[str | tuple[str, int], str] = {}
    for block in text.split("\n\n"):
        parts: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line.startswith("msg"):
                name, _, line = line.partition(" ")
            if line.startswith('"'):
                parts[name] = parts.get(name, "") + ast.literal_eval(line)
        message = parts.get("msgid", "") if "msgctxt" not in parts else f"{parts['msgctxt']}\x04{parts['msgid']}"
        for name, said in parts.items():
            if name == "msgstr":
                found[message] = said
            elif name.startswith("msgstr["):
                found[message, int(name[7:-1])] = said
    return found


def test_german_is_complete() -> None:
    text = CATALOGUE.with_suffix(".po").read_text(encoding="utf-8")
    written = _read_catalogue(text)
    known = {key if isinstance(key, str) else key[0] for key in written}
    asked = {*_messages_of_code(), *_messages_of_templates(), *words_of_tables()}
    asked |= {f"{CONTEXT}\x04{sentence}" for sentence in _sentences_of_code()}

    assert len(asked) > 4_500
    assert not asked - known, "Run `make messages` and write the German of what is new."
    assert not known - asked - {""}, "Run `make messages`: nothing says these any more."
    assert "fuzzy" not in text
    assert not [key for key, said in written.items() if not said]


def test_a_translation_has_the_values_and_tags_of_its_message() -> None:
    written = _read_catalogue(CATALOGUE.with_suffix(".po").read_text(encoding="utf-8"))
    pairs = [(key if isinstance(key, str) else key[0], said) for key, said in written.items() if key]

    differ = [pair for pair in pairs if len({frozenset(_PLACEHOLDER.findall(text)) for text in pair}) > 1]

    assert not differ


def test_what_is_counted_is_no_value_of_the_sentence() -> None:
    tags = [tag for path in (ROOT / "templates").rglob("*.html") for tag in _COUNTED.findall(path.read_text("utf-8"))]

    # Django counts what has the name when the values of the sentence stand there: the words that are shown.
    assert len(tags) > 20
    assert [counted for counted, rest in tags if f" {re.split('[.|]', counted)[0]}=" in rest] == []


def test_what_is_compiled_is_what_is_written() -> None:
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        compiled: dict[Any, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]

    written = _read_catalogue(CATALOGUE.with_suffix(".po").read_text(encoding="utf-8"))

    assert {key: said for key, said in compiled.items() if key} == {key: said for key, said in written.items() if key}


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say every message in brackets, Django's own too."""
    # What is put together when a module is imported is put together in English.
    assert get_resolver().url_patterns
    # What is kept of pages is neither read here nor left behind.
    monkeypatch.setattr(queue_tags, "_unused_filters", {})
    monkeypatch.setattr(queue_tags, "_render_row", queue_tags._render_row.__wrapped__)
    monkeypatch.setattr(constants, "_kept", {})
    monkeypatch.setattr(navigation, "_menu_with", navigation._menu_with.__wrapped__)
    monkeypatch.setattr(forms, "_render_unsent", forms._render_unsent.__wrapped__)

    def bracket(said: str) -> str:
        marked = f"⟦{said}⟧"
        return mark_safe(marked) if isinstance(said, SafeData) else marked

    translations: Any = translation._trans  # type: ignore[attr-defined]
    said = {one: SentenceTemplate(one) for one in _sentences_of_code()}
    monkeypatch.setattr("bigmind.core.sentences.templates_in", lambda language: said)
    monkeypatch.setattr(translations, "gettext", bracket)
    monkeypatch.setattr(translations, "pgettext", lambda context, said: bracket(said))
    monkeypatch.setattr(translations, "ngettext", lambda one, many, number: bracket(one if number == 1 else many))


@pytest.mark.django_db
def test_no_text_of_a_page_is_left_out(settings: Any, brackets: None) -> None:
    settings.BIGMIND_MODE = "team"
    fernwood = make_fernwood()
    browser = browser_of(fernwood["priya"])
    stored = _stored_words()

    left_out = {
        f"{name}: {text}"
        for name, address in _addresses(fernwood).items()
        for text in _Reader(browser.get(address).text).outside
        if not text.startswith("{") and not {word.lower() for word in _WORD.findall(text)} <= stored
    }

    assert not left_out, "\n".join(sorted(left_out))


def _stored_words() -> set[str]:
    """Return every word that a row holds, and names that are the same in all languages."""
    words = {"bigmind", "api", "mcp", "ms", "pm", "deutsch", "english", "esc", "ctrl", "utc", "pgvector", "help"}
    words.update(word.lower() for client in CLIENTS for word in _WORD.findall(client.name))
    for model in apps.get_models():
        fields = [field.name for field in model._meta.concrete_fields if _holds_text(field)]
        for row in model._default_manager.values_list(*fields) if fields else ():
            words.update(word.lower() for value in row for word in _WORD.findall(str(value)))
    return words


def _holds_text(field: Any) -> bool:
    return isinstance(field, models.CharField | models.TextField | models.JSONField) or hasattr(field, "base_field")


class _Reader(HTMLParser):
    """Reads a page, and keeps what of it stands outside of brackets. To make a tree of it first takes twice as long."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.outside: list[str] = []
        self._open: list[_Element] = []
        self._depth = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = _Element.within(self._open[-1] if self._open else None, tag, dict(attrs))
        if not element.is_left_out:
            said = [value or "" for name, value in attrs if name in _ATTRIBUTES]
            self.outside += [text for text in said if _WORD.search(_unbracketed(text, 0)[0])]
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for place in reversed(range(len(self._open))):
            if self._open[place].tag == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        element = self._open[-1] if self._open else None
        if element and (element.is_left_out or element.tag in _NO_TEXT):
            return
        outside, self._depth = _unbracketed(data, self._depth)
        if _WORD.search(outside) and not (element and element.is_unread):
            self.outside.append(" ".join(outside.split()))


@dataclass(frozen=True)
class _Element:
    """An element that is open: whether it is of the ways in, left out, or not read, as what it stands in."""

    tag: str
    is_of_ways_in: bool
    is_left_out: bool
    is_unread: bool

    @classmethod
    def within(cls, outer: "_Element | None", tag: str, attributes: dict[str, str | None]) -> "_Element":
        classes = (attributes.get("class") or "").split()
        is_of_ways_in = outer is not None and outer.is_of_ways_in
        is_left_out = (
            (tag != "html" and attributes.get("lang") == "en")
            or "avatar" in classes
            or (is_of_ways_in and tag == "summary")
            or attributes.get("id") == "id_time_zone"
            or "data-fit" in attributes
        )
        return cls(
            tag,
            is_of_ways_in or "ways-in" in classes,
            is_left_out or (outer is not None and outer.is_left_out),
            tag in _NOT_READ or (outer is not None and outer.is_unread),
        )


def _unbracketed(text: str, depth: int) -> tuple[str, int]:
    if "⟦" not in text and "⟧" not in text:
        return ("", depth) if depth else (_MIGRATION.sub("", text), 0)
    outside = []
    for letter in _MIGRATION.sub("", text):
        depth += (letter == "⟦") - (letter == "⟧")
        if not depth and letter != "⟧":
            outside.append(letter)
    return "".join(outside), depth


def test_what_stands_outside_of_brackets_is_found_in_texts_and_attributes() -> None:
    page = '<p title="a word">⟦in <b>it</b>⟧ left<br/> out</p><code>is code</code><b class="avatar">is left</b>'

    assert _Reader(page).outside == ["a word", "left", "out"]


@pytest.mark.django_db
def test_a_person_chooses_their_language(settings: Any) -> None:
    actor = make_actor()
    browser = Client(headers={"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
    unknown = browser.get("/sign-in/")
    browser.force_login(actor.user)
    german = browser.get("/notices/")
    browser.post("/notices/settings/", {"locale": "1", "language": "en", "time_zone": ""})
    english = browser.get("/notices/")

    assert '<html lang="de"' in unknown.text
    assert "Benutzername" in unknown.text
    assert "Mitteilungen" in german.text
    assert "Accept-Language" in german["Vary"]
    assert '<html lang="en"' in english.text
    assert "Your language" in english.text
    assert "user" in browser.get("/api/v1/openapi.json").text
    assert django_settings.LANGUAGE_CODE == "en"


@pytest.mark.django_db
def test_stored_words_are_said_in_german(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"  # Where proposals wait, they are decided together.
    author, admin = make_actor(), make_actor(admin=True)
    fact = make_fact(author, "Deploys to production are never allowed on Fridays for any team.")
    stored = promote_to_global(author, category="standard", source_kind="fact", source_id=str(fact.pk)).entry
    other = propose(content="Deploys to production are allowed on Fridays for every team.")
    compare_proposals()
    invite(admin, name="Ada", role="curator")
    german = Client(headers={"Accept-Language": "de"})
    german.force_login(admin.user)
    (hint,) = Overlap.objects.get().hints

    with translation.override("de"):
        said = in_language(hint)
    assert said != hint
    assert said in german.get(f"/curation/{other.pk}/").text
    assert "gespeichert: Fakt" in german.get(f"/curation/{stored.pk}/").text
    assert "als Kurator" in german.get("/people/").text


@pytest.mark.django_db
def test_fields_without_a_label_are_named_in_german() -> None:
    stranger, admin = (Client(headers={"Accept-Language": "de"}) for _ in range(2))
    admin.force_login(make_actor(admin=True).user)

    assert ">Passwort</label>" in stranger.get("/sign-in/").text
    assert ">Bezeichnung</label>" in admin.get("/keys/new/").text
    assert ">E-Mail <small>" in admin.get("/people/invite/").text


def test_what_was_refused_is_said_in_german() -> None:
    with translation.override("de"):
        whole = in_language("Ada is the last admin. Make someone else an admin first.")
        of_field = in_language("content is 71,204 bytes; the limit is 65,536. Split it or shorten it.")
        stored_name = in_language("C12 is already approved by Jonas.")
        of_others = in_language("The colleague wrote this.")

    assert whole == "Ada ist der letzte Admin. Mach zuerst jemand anderen zum Admin."
    assert of_field == "content hat 71.204 Bytes; die Grenze ist 65.536. Teile oder kürze es."
    assert stored_name == "C12 ist schon genehmigt, durch Jonas."
    assert of_others == "The colleague wrote this."
    assert in_language("Ada is the last admin.") == "Ada is the last admin."


def test_a_text_full_of_sentences_is_not_read_in_all_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, values_in = [], SentenceTemplate.values_in
    monkeypatch.setattr(
        SentenceTemplate,
        "values_in",
        lambda template, sentence: compared.append(sentence) or values_in(template, sentence),
    )
    with translation.override("de"):
        said = in_language("C1 was rejected by Ada: no. " * 8)
        known = len(templates_in("de"))

    assert "hat C1 abgelehnt: no." in said
    assert len(compared) <= MOST_TRIED * known


def test_sentences_are_collected_from_the_code() -> None:
    found = _sentences_of_code()

    # Raised at once, as a problem of a field, one of two words, in a variable, of a validator, an alert, a sign.
    assert "{user} is the last admin." in found
    assert "must be another entry" in found
    assert {"This app may not {action}.", "This key may not {action}."} <= found
    assert "{by} asks you to choose what colleagues may see of you, so that they find whom to ask." in found
    assert "is empty. Say something, or leave the argument out" in found
    assert {"A recovery code was used. It opens nothing any more.", "Welcome, {user}."} <= found
    assert {sign.why for sign in SIGNS} <= found
    # What a check found, in a part of the instance or in code, and where texts differ.
    assert {"does not answer; work waits in the database", "the last one failed"} <= found
    assert "`{name}` was `{was}` and is `{now}`, which the entry says." in found
    assert "“{excerpt}” here, “{excerpt_2}” there" in found


def german(user: User) -> Client:
    """Return a browser in which this person reads German."""
    user.language = "de"
    user.save()
    return browser_of(user)


@pytest.mark.django_db
def test_a_person_reads_german_and_their_agent_english(settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    author, curator = make_actor().user, make_actor(curator=True)
    entry = propose(Actor.of(author), title="Use uv")
    decide_at_latest(curator, entry_id=entry.pk, action="reject", notes="No.")
    browser, key = german(author), make_key(author).text

    home, notices = browser.get("/").text, browser.get("/notices/").text
    refused = browser.get("/curation/").text
    missing = browser.post(
        "/api/v1/facts/99999/deprecate/",
        {"reason": "It is not true any more."},
        "application/json",
        headers={"authorization": f"Bearer {key}", "accept-language": "de"},
    ).json()

    assert all(f"hat “Use uv” ({entry.handle}) abgelehnt: No." in page for page in (home, notices))
    assert Notice.objects.get().text.endswith(f"({entry.handle}) was rejected by {curator.user}: No.")
    assert "In der Rolle Mitglied darf man das nicht" in refused
    assert missing["detail"].startswith("You have no fact")


@pytest.mark.django_db
def test_an_admin_reads_settings_and_tables_in_german() -> None:
    browser = german(make_actor(admin=True).user)

    found = browser.get("/system/settings/", {"q": "überfällig"}).text
    index, facts = browser.get("/admin/").text, browser.get("/admin/knowledge/fact/").text

    assert "als überfällig gezeigt wird" in found
    assert "Prüffragen" in index
    assert "Fakt zum Ansehen auswählen" in facts

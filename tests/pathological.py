"""Texts that cost careless code the square of their length or worse, and the functions that meet texts from outside."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import get_args

from rest_framework.exceptions import APIException

from accounts.connecting.hook_program import TEXT_CHARS, clean
from accounts.services.audit import head_in
from bigmind.core.argument_conversion import list_in
from bigmind.core.errors import BigMindError
from bigmind.core.handles import id_in, read_handle
from bigmind.core.markdown import plain_words as plain_words_of_markdown
from bigmind.help.search import search_help
from bigmind.privacy.injections import find_injections, find_warnings
from bigmind.privacy.screening import drop_private, find_secrets
from bigmind.privacy.screening.policy import refuse_secrets
from bigmind.privacy.scrub.matching import MOST, needles_of, replace_in
from bigmind.reply_parts import part_of
from bigmind.text.hygiene import (
    check_content,
    echo,
    echo_code,
    fence,
    find_hidden_characters,
    inline,
    markdown_lines,
    mention,
    normalise,
    split_to_bytes,
)
from bigmind.text.key_text import is_well_formed
from bigmind.text.period_vocabulary import meanings_of
from bigmind.text.periods import find_period, read_period
from bigmind.text.token_counts import count_tokens, cut_to_tokens
from bigmind.toolsets import parse_toolsets
from bigmind.transports.hooks.payloads import drop_hook_context
from bigmind.transports.mcp.fast_tool_calls import read_call
from bigmind.transports.mcp.request_context import parse_structured
from bigmind.transports.rest.request_reading import read_json
from bigmind.triggers import act_of, compile_trigger
from bigmind.web.components import marked
from bigmind.web.differences import words_changed
from bigmind.web.markdown import render_markdown
from bigmind.web.pages import read_number
from curation.notifications.notices import notice_text
from knowledge.anchors.grammar import read_anchor, write_anchor
from knowledge.anchors.manifests import commands_of, dependencies_of, settings_of, version_in
from knowledge.anchors.syntax import parse_definitions
from knowledge.app_maps.files.map_archives import unpack
from knowledge.app_maps.files.map_folders import parse_maps
from knowledge.app_maps.files.text import quote, scalar
from knowledge.app_maps.finding import split_words
from knowledge.capture.reports import clean as clean_report
from knowledge.context.facts import line_start
from knowledge.context.line_ranking import tells_to
from knowledge.context.line_ranking import words_of as words_to_rank
from knowledge.exposures.gaps import telling_words
from knowledge.lessons.fingerprints import error_in, errors_in
from knowledge.lessons.fixes import fix_in
from knowledge.parsers.archives import FilesInMemory, bundle_from
from knowledge.parsers.learnings import mark_text, pending_in
from knowledge.parsers.markdown import infer_tags
from knowledge.parsers.outline import words_of as plain_words
from knowledge.parsers.sources import SourceKind, kind_for, parse_text
from knowledge.parsers.syntax_trees import GRAMMARS
from knowledge.parsers.yaml_files import parse_entries
from knowledge.recall.episode_questions import read_episode_question
from knowledge.recall.hits import words_in
from knowledge.references.readers.commands import first_sentence, name_in
from knowledge.references.readers.console.help_texts import literal_words
from knowledge.references.readers.console.source import plain_comment
from knowledge.references.readers.documents import read_document
from knowledge.references.readers.help.text import read_help
from knowledge.references.readers.help.usage import choices_in, is_option_row, option_of, read_usage, usage_lines
from knowledge.references.readers.registry import GENERATORS, Source, generator_for
from knowledge.references.readers.validation import findings_in
from knowledge.references.request_checks import read_request
from knowledge.search.excerpts import below_title, excerpt_of, words_like
from knowledge.search.language_identification import dictionary_of
from knowledge.search.passage_splitting import split_text
from knowledge.search.question_periods import find_past
from knowledge.search.typed_names import commands_typed, path_form, request_in, spell, words_typed
from knowledge.templatetags.agent import around, caution, code, quoted, told
from knowledge.templatetags.agent import tokens as cut_to_budget
from knowledge.templatetags.pages import highlighted, inline_code, snippet
from knowledge.transfer.program_formats import write_items
from knowledge.transfer.readers import formats as importers
from knowledge.transfer.readers.items import Item
from knowledge.transfer.readers.markdown_folders import facts_of_rules
from knowledge.transfer.readers.provenance import fingerprint
from knowledge.transfer.readers.saved_memories import facts_in
from knowledge.transfer.readers.transcripts import exit_code
from knowledge.transfer.readers.uploads import open_upload
from knowledge.transfer.written_files import read_marks
from knowledge.truth.contradictions import contradictions, differs_in_a_word, may_say_same
from knowledge.truth.doubtful_facts import why_doubtful
from knowledge.views.context import tokens_by_tier
from knowledge.views.entries import heading_and_body, words_of

DOCUMENTS: tuple[SourceKind, ...] = get_args(SourceKind)
PUMPS = {
    "backticks": "`",
    "backticks, growing": "",
    "spaces": " ",
    "tabs": "\t",
    "newlines": "\n",
    "carriage returns": "\r",
    "letters": "a",
    "capitals": "A",
    "digits": "1",
    "hyphens": "-",
    "dots": ".",
    "colons": ":",
    "slashes": "/",
    "backslashes": "\\",
    "stars": "*",
    "underscores": "_",
    "brackets": "[",
    "parentheses": "(",
    "braces": "{",
    "less-thans": "<",
    "quotations": ">",
    "pipes": "|",
    "commas": ",",
    "apostrophes": "'",
    "quotes": '"',
    "at signs": "@",
    "tildes": "~",
    "equals signs": "=",
    "hashes": "#",
    "ampersands": "&",
    "full stops and spaces": ". ",
    "words": "a ",
    "lines of letters": "a\n",
    "lines of pipes": "|\n",
    "cells": "|a|",
    "rows": "|a|b|\n",
    "tables": "a|b\n-|-\n",
    "a wide table": "",
    "a short header and many rows": "",
    "links": "[a](",
    "images": "![",
    "references": "[a]: b\n",
    "links of references": "[a][b]",
    "nested quotations": "> ",
    "nested lists": "",
    "lists": "- a\n",
    "numbered": "1. ",
    "stress": "*a **a",
    "strikes": "~~a ~",
    "stressed words": "a*_",
    "fences": "```\n",
    "fences in a line": "```a ",
    "long fences": "~~~~\na\n",
    "headings": "# ",
    "lines of headings": "# a\n\n",
    "underlined": "a\n-\n",
    "html": "<a ",
    "comments": "<!--",
    "declarations": "<!A ",
    "processing": "<?",
    "character data": "<![CDATA[",
    "autolinks": "<a:",
    "entities": "&a",
    "secret(": "secret(",
    "secret ": "secret ",
    "password=": "password=",
    "password: ": "password:\n",
    "key ": "key ",
    "api_key": "api_key_",
    "short names of secrets": "pw=",
    "short names and digits": "pw 1",
    "finds in a find": "find . -exec ",
    "bearers": "Bearer ",
    "private keys": "-----BEGIN PRIVATE KEY-----\n",
    "user information": "a://b:c",
    "addresses": "http://a@",
    "mails": "a@a.",
    "domains": "a.a",
    "hosts and ports": "a.a:1",
    "tokens": "ghp_a",
    "base64": "QUFB",
    "base64 in groups": "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB=",
    "dates": "2026-01-01 ",
    "times": "12:00:00.",
    "numbers": "1,1.",
    "hexadecimals": "a1",
    "ignore": "ignore all previous instructions ",
    "ignore the": "ignore the ",
    "send": "send ",
    "you are": "you are now ",
    "errors": "Error: ",
    "lines of errors": "Error: a\n",
    "errors, nested": "error[",
    "exceptions": "a.bError: ",
    "tracebacks": "Traceback (most recent call last)\n",
    "frames": '  File "a", line 1, in a\n',
    "java frames": "\tat a.b(C.java:1)\n",
    "go frames": "main.a()\n\t/a.go:1 +0x1\n",
    "panics": "panic: ",
    "colours": "\x1b[",
    "usage": "usage: a ",
    "options": "  --a <b>, ",
    "rows of options": "  -a, --aa A   text\n",
    "choices": "{a,b,",
    "values": "possible values: ",
    "bullets": "Possible values:\n - ",
    "options, one line": "--a ",
    "optionals": "[--a=",
    "commands": "commands:\n  a   b\n",
    "labels": "**Fix:** ",
    "labels, lines": "Fix: \n",
    "labels alone": "**a:**\n\n",
    "labels of lists": "- **a:**\n  - b\n",
    "fixes": ". Fix: ",
    "statuses": "Status: ",
    "stories": "STORY A-",
    "story ids": "A1-",
    "adrs": "adr-",
    "dated": "March 1, ",
    "tags": "#a/",
    "hashtags": " #",
    "packages": "`a-",
    "scoped": "`@a/",
    "observations": "- [a] ",
    "contexts": " (a",
    "closings": ") ",
    "anchors in yaml": "&a ",
    "flow in yaml": "[a,",
    "maps in yaml": "{a: ",
    "keys in yaml": "a: ",
    "keys in lines": "a: b\n",
    "questions in yaml": "? ",
    "nested json": '{"a":',
    "requests": "GET /a",
    "placeholders": "{a}/",
    "versions": "1.2.3-",
    "combining": "e\u0301",
    "joiners": "\u200d",
    "selectors": "\ufe0f",
    "emoji": "\U0001f600\u200d",
    "expanding": "\ufdfa",
    "lowered": "İ",
    "ideographs": "密码",
    "long s": "ſ",
    "dotted keys": "a.b.",
    "decimals": "0.0",
    "versions in a row": "12.34.",
    "variables": "A=b\n",
    "lists of keys": "- a: b\n",
    "bare addresses": "://",
    "what is sent": "send memory ",
    "declarations in code": "let a=a;",
    "functions": "function a(b){",
    "line separators": "\u2028",
}
"""What is repeated, by a name for it; those with nothing to repeat are made below."""


def bank(size: int) -> Iterator[tuple[str, str]]:
    """Yield texts of up to so many bytes with a name each: pumps alone, after a beginning and before an end."""
    for name, pump in PUMPS.items():
        body = pump * (size // len(pump.encode())) if pump else _made(name, size)
        yield name, body
        yield f"{name}, then a letter", _cut(body, size - 2) + "!x"
        yield f"letters around {name}", "a " + _cut(body, size - 6) + "\n\nb"
        yield f"{name} in an item", "- [note] " + _cut(body.replace("\n", " "), size - 12) + "x"


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def _made(name: str, size: int) -> str:
    if name == "backticks, growing":
        parts, length, ticks = [], 0, 1
        while length + ticks + 1 < size:
            parts.append("`" * ticks + "a")
            length += ticks + 1
            ticks += 1
        return "".join(parts)
    if name == "a wide table":
        columns = int((size / 8) ** 0.5) * 2
        row = "|" + "a|" * columns + "\n"
        return row + "|" + "-|" * columns + "\n" + "|\n" * ((size - 4 * columns) // 3)
    if name == "a short header and many rows":
        columns = size // 8
        return "|" + "a|" * columns + "\n|" + "-|" * columns + "\n" + "a\n" * (size // 4)
    depth = int((size * 2) ** 0.5) - 2
    return "".join(" " * level + "- a\n" for level in range(0, depth, 2))


def _import(name: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        bundle = bundle_from(io.BytesIO(text.encode(errors="replace")), f"upload.{'json' if name == 'json' else 'md'}")
        return importers.read(bundle, importers.format_of(bundle, name))

    return read


def _basic_memory(text: str) -> object:
    return _import("auto")(f"---\ntitle: a\npermalink: a\n---\n{text}")


def _in_and_out(name: str) -> Callable[[str], object]:
    """Write a text in a format that a memory is written in, and read it again."""
    format = importers.WRITTEN[name]

    def write_and_read(text: str) -> object:
        items = [
            Item("fact", {"fact": text, "category": "decision"}),
            Item("note", {"domain": "a", "key": text[:99], "content": text}),
        ]
        files: dict[str, bytes] = {}
        write_items(format, items, files, {})
        return importers.read(FilesInMemory("passport", files), format)

    return write_and_read


def _pages(name: str) -> Callable[[str], object]:
    """Read a text where the export of a product has one."""

    def read(text: str) -> object:
        files = {file: content.encode(errors="replace") for file, content in PAGE_FILES[name](text).items()}
        format = importers.format_of(FilesInMemory("export", files), name)
        return importers.read(FilesInMemory("export", files), format)

    return read


PAGE_FILES: dict[str, Callable[[str], dict[str, str]]] = {
    "obsidian": lambda text: {"a.md": text, "b.md": f"---\ntags: [a]\n---\n{text}"},
}


def _generate(text: str) -> object:
    source = Source("upload.txt", text.encode(errors="replace"))
    return generator_for(source).generate(source)


def _generator(kind: str, beginning: str = "") -> Callable[[str], object]:
    def generate(text: str) -> object:
        return GENERATORS[kind].generate(Source(f"upload.{kind}", (beginning + text).encode(errors="replace")))

    return generate


def _validate(text: str) -> object:
    return findings_in(Source("upload.yaml", (OPENAPI + _indented(text)).encode(errors="replace")), "openapi")


def _zipped(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("crm.yaml", text)
    return buffer.getvalue()


def _upload(text: str) -> object:
    return open_upload(text.encode(errors="replace"), "upload.json", 5_000), open_upload(_zipped(text), "a.zip", 5_000)


def _map(text: str) -> object:
    return parse_maps(unpack(_zipped(f"app:\n  name: |\n{_indented(text)}")))


def _mark(text: str) -> object:
    return mark_text(f"entries:\n- content: |\n{_indented(text)}", "LEARNINGS.yaml", {}, datetime.now(UTC))


def _describe_api(text: str) -> object:
    return GENERATORS["openapi"].generate(Source("a.yaml", (OPENAPI + _indented(text)).encode(errors="replace")))


def _indented(text: str) -> str:
    return "".join(f"{' ' * 10}{line}\n" for line in text.split("\n"))


def _transcript(text: str) -> object:
    return exit_code(text), drop_hook_context(text), drop_private(text), clean_report(text)


def _question(text: str) -> object:
    read_period(text)
    return (
        find_past(text),
        find_period(text),
        meanings_of(text),
        read_episode_question(text),
        words_to_rank(text),
        tells_to(text),
        highlighted(text, ["secret", "a"]),
        snippet(text, ["secret", "a"]),
        inline_code(text),
        around(text, ["a"]),
    )


OPENAPI = "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths:\n  /a:\n    get:\n      description: |\n"


def _pending(text: str) -> object:
    return pending_in(f"entries:\n- content: |\n{_indented(text)}", "LEARNINGS.yaml")


def _excerpt(text: str) -> object:
    pattern = words_like(["secret", "a"])
    return excerpt_of(text, ["secret", "a"]), below_title(text, text[:100]), pattern and pattern.findall(text)


CITED = ("a.toml", "a.json", "a.yml", "a.ini", ".env", "go.mod", "pom.xml", "requirements.txt", "Makefile")
"""One of each kind of file that anchors cite."""


def _cited(path: str) -> Callable[[str], object]:
    """Read a text as a file that anchors cite."""

    def read_each(text: str) -> None:
        for read in (settings_of, dependencies_of, commands_of):
            with suppress(ValueError):
                read(path, text)

    return read_each


def _parsed_as(language: str) -> Callable[[str], object]:
    """Find the definitions in a text as in code of a language."""
    return lambda text: parse_definitions(text.encode(), language, "a")


def _compare_with_triggers(text: str) -> None:
    """Let every kind of trigger be compared with a text, and be read from it."""
    told = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"command": text, "file_path": text}}
    failed = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": {"stderr": text}}
    for event in (told, failed, {"hook_event_name": "UserPromptSubmit", "prompt": text}):
        act = act_of(event, "/work", "/work")
        for trigger in ("command: a … b … c*d", "path: a/**/b/*c", "tool: a*b c", "error: a … b", 'prompt: a* "b c"'):
            if act:
                act.fires(*compile_trigger(trigger))
    with suppress(ValueError):
        compile_trigger(f"command: {text}")


ENTRANCES: dict[str, Callable[[str], object]] = {
    "rendering markdown": render_markdown,
    "marking what differs": lambda text: marked(text, text[::-1]),
    "calls of tools": lambda text: read_call(text.encode()),
    "quoting markdown": plain_words_of_markdown,
    "numbers in addresses": read_number,
    "headings of entries": heading_and_body,
    "titles of entries": words_of,
    "searching help": search_help,
    "telling words": telling_words,
    "inline for agents": inline,
    "names that errors repeat": lambda text: (echo(text), echo_code(text), mention(text)),
    "anchors": lambda text: (read_anchor(text), write_anchor(text)),
    **{f"code that anchors cite in {name}": _parsed_as(name) for name in GRAMMARS},
    "versions that anchors state": lambda text: version_in(text, text),
    **{f"an anchor that cites {path}": _cited(path) for path in CITED},
    "fences for agents": lambda text: fence(text, label=text[:1000]),
    "checking content": lambda text: (check_content(text), find_hidden_characters(text), normalise(text)),
    "counting tokens": lambda text: (count_tokens(text), cut_to_tokens(text, 1_000)),
    "screening": find_secrets,
    "what a hook sends": lambda text: clean(text, TEXT_CHARS),
    "what a hook is asked before": _compare_with_triggers,
    "signs of injection": lambda text: (find_injections(text), find_warnings(text)),
    "labels for agents": lambda text: (caution(text), code(text), quoted(text), told(text)),
    "languages": dictionary_of,
    "heads of the audit log": head_in,
    "passages": lambda text: list(split_text(text)),
    "removing a text": lambda text: (replace_in(text, needles_of("letters in an item"), ""), needles_of(text[:MOST])),
    "excerpts": _excerpt,
    "error in a log": error_in,
    "errors in a lesson": errors_in,
    "fix in a lesson": fix_in,
    "names": lambda text: (
        spell(text),
        words_typed(text),
        commands_typed(text),
        request_in(text),
        path_form(text[:4_000]),
    ),
    "tags": infer_tags,
    "words of markdown": plain_words,
    "contradictions": lambda text: contradictions(text, text),
    "doubtful facts": why_doubtful,
    "differs_in_a_word": lambda text: differs_in_a_word(text, text),
    "may_say_same": lambda text: may_say_same(text, text),
    "differences": lambda text: list(words_changed(text, text[1:] + "b")),
    "command names": lambda text: name_in("command", "get users", text),
    "first sentences": first_sentence,
    "help texts": read_help,
    "usage lines": lambda text: (read_usage(text), usage_lines(text)),
    "choices": choices_in,
    "options": lambda text: (is_option_row(text), option_of("--a " + text, text)),
    "sources of references": _generate,
    "typescript": _generator("console"),
    "comments in typescript": lambda text: (
        _generator("console", "/** ")(text),
        plain_comment(text),
        literal_words(text),
    ),
    "openapi": _generator("openapi"),
    "descriptions in openapi": _describe_api,
    "validation of openapi": _validate,
    "curated references": _generator("curated"),
    "documents of references": lambda text: read_document(text, "upload.yaml"),
    "app maps": _map,
    "names in app maps": lambda text: (scalar(text), quote(text), split_words(text)),
    "uploads": _upload,
    "transcripts": _transcript,
    "questions": _question,
    "words of what says the same": words_in,
    "requests that are checked": read_request,
    "parts of replies": lambda text: (part_of(text, 2), split_to_bytes(text, 2_000), markdown_lines(text)),
    "json": lambda text: read_json(text.encode(errors="replace")),
    "texts in json": lambda text: read_json(json.dumps({"a": [text]}).encode(errors="replace")),
    "lists in texts": list_in,
    "handles": lambda text: (read_handle(text), id_in(text, "fact"), is_well_formed(text)),
    "toolsets": parse_toolsets,
    "forms of replies": parse_structured,
    "shared texts": refuse_secrets,
    "lines of agents": lambda text: (
        line_start(text),
        cut_to_budget(text, 100),
        notice_text(text),
        tokens_by_tier(text),
    ),
    "marks in learnings": _mark,
    "saved memories": lambda text: list(facts_in(text, "upload.txt")),
    "rules for agents": lambda text: list(facts_of_rules("CLAUDE.md", text)),
    "kinds of documents": lambda text: kind_for("a.md", text),
    **{f"a document of {kind}": lambda text, kind=kind: parse_text(text, "a.md", kind) for kind in DOCUMENTS},
    "learnings": _pending,
    "entry files": lambda text: parse_entries(f"entries:\n- content: |\n{_indented(text)}", "a.yaml"),
    "an import, recognised": _import("auto"),
    "an import of basic-memory": _basic_memory,
    **{f"a memory as {name}": _in_and_out(name) for name in importers.WRITTEN},
    "what was written into a folder": lambda text: (read_marks(text), fingerprint(text)),
    **{f"pages of {name}": _pages(name) for name in PAGE_FILES},
    **{f"an import as {one.name}": _import(one.name) for one in importers.FORMATS if one.name != "older-bigmind"},
}
"""Every function that meets a text from outside, before or without a database, by a name for it.

`tests/core/test_text_functions.py` finds the functions of the code that these do not reach.
"""


PATIENT = {
    *("typescript", "comments in typescript", "rules for agents"),
    *(f"a document of {kind}" for kind in DOCUMENTS),
    *(f"pages of {name}" for name in PAGE_FILES),
    *(f"a memory as {name}" for name in importers.WRITTEN),
    *(f"code that anchors cite in {name}" for name in GRAMMARS),
}
"""What only commands read, or from 8 KiB on a process that can be killed (`read_upload`, `read_files`).

It may take longer, as long as that grows with the text.
"""


def meet(entrance: str, text: str) -> None:
    """Give a text to an entrance. A refusal is an answer, too."""
    try:
        ENTRANCES[entrance](text)
    except (BigMindError, APIException, ValueError):
        return

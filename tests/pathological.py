"""Texts that cost careless code the square of their length or worse, and the functions that meet texts from outside."""

import io
from collections.abc import Callable, Iterator

from accounts.connecting.hook_program import TEXT_CHARS, clean
from bigmind.core.errors import Invalid
from bigmind.core.injections import find_injections
from bigmind.core.screening import find_secrets
from bigmind.core.text import check_content, fence, find_hidden_characters, inline, normalise
from bigmind.core.tokens import count_tokens, cut_to_tokens
from bigmind.web.differences import words_changed
from bigmind.web.markdown import render_markdown
from knowledge.lessons.fingerprints import error_in, errors_in
from knowledge.lessons.fixes import fix_in
from knowledge.parsers.learnings import pending_in
from knowledge.parsers.markdown import infer_tags
from knowledge.parsers.outline import words_of as plain_words
from knowledge.parsers.yaml_files import parse_entries
from knowledge.references.readers.commands import first_sentence, name_in
from knowledge.references.readers.help.text import read_help
from knowledge.references.readers.help.usage import choices_in, is_option_row, option_of, read_usage
from knowledge.references.readers.registry import Source, generator_for
from knowledge.search.excerpts import below_title, excerpt_of, words_like
from knowledge.search.names import path_form, request_in, spell, words_typed
from knowledge.search.splits import split_text
from knowledge.services.contradictions import contradictions
from knowledge.transfer import readers as importers
from knowledge.transfer.readers.bundles import bundle_from
from knowledge.views.entries import heading_and_body, words_of

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


def _generate(text: str) -> object:
    source = Source("upload.txt", text.encode(errors="replace"))
    return generator_for(source).generate(source)


def _generate_typescript(text: str) -> object:
    source = Source("upload.ts", text.encode(errors="replace"))
    return generator_for(source).generate(source)


def _pending(text: str) -> object:
    return pending_in("entries:\n- content: |\n" + text, "LEARNINGS.yaml")


def _excerpt(text: str) -> object:
    pattern = words_like(["secret", "a"])
    return excerpt_of(text, ["secret", "a"]), below_title(text, text[:100]), pattern and pattern.findall(text)


ENTRANCES: dict[str, Callable[[str], object]] = {
    "rendering markdown": render_markdown,
    "headings of entries": heading_and_body,
    "titles of entries": words_of,
    "inline for agents": inline,
    "fences for agents": lambda text: fence(text, label=text[:1000]),
    "checking content": lambda text: (check_content(text), find_hidden_characters(text), normalise(text)),
    "counting tokens": lambda text: (count_tokens(text), cut_to_tokens(text, 1_000)),
    "screening": find_secrets,
    "what a hook sends": lambda text: clean(text, TEXT_CHARS),
    "signs of injection": find_injections,
    "passages": lambda text: list(split_text(text)),
    "excerpts": _excerpt,
    "error in a log": error_in,
    "errors in a lesson": errors_in,
    "fix in a lesson": fix_in,
    "names": lambda text: (spell(text), words_typed(text), request_in(text), path_form(text[:4_000])),
    "tags": infer_tags,
    "words of markdown": plain_words,
    "contradictions": lambda text: contradictions(text, text),
    "differences": lambda text: list(words_changed(text, text[1:] + "b")),
    "command names": lambda text: name_in("command", "get users", text),
    "first sentences": first_sentence,
    "help texts": read_help,
    "usage lines": read_usage,
    "choices": choices_in,
    "options": lambda text: (is_option_row(text), option_of("--a " + text, text)),
    "sources of references": _generate,
    "typescript": _generate_typescript,
    "learnings": _pending,
    "entry files": lambda text: parse_entries("entries:\n- content: |\n" + text, "a.yaml"),
    "an import, recognised": _import("auto"),
    "an import of basic-memory": _basic_memory,
    **{f"an import as {name}": _import(name) for name in importers.FORMATS if name != "older-bigmind"},
}
"""Every function of the server that meets a text from outside, before or without a database, by a name for it.

Documents that the commands read (`bigmind kb_seed`) stop nobody but who gave the command.
"""


def meet(entrance: str, text: str) -> None:
    """Give a text to an entrance. A refusal is an answer, too."""
    try:
        ENTRANCES[entrance](text)
    except (Invalid, ValueError):
        return

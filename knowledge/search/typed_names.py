"""Names as people type them: commands, requests and paths, each in the form that it is looked up in."""

import re
import shlex
import unicodedata
from itertools import product
from math import prod
from typing import NamedTuple
from urllib.parse import unquote

from bigmind.network.addresses import path_in
from bigmind.text.words import WORD
from knowledge.models.references import NAME_CHARS

PARAMETER = "{}"
"""Placeholder of a parameter in a path."""
MOST_CANDIDATES = 1024
"""Limit of the templates tried for one path: they double with every segment."""

_QUOTES = str.maketrans(dict.fromkeys("`'\"“”‘’«»", ""))
_PROMPT = re.compile(r"^\s*[$>%#]\s+")
_MARKS = re.compile(r"[\\'\"#|;&\n]")
_QUOTES_IN = re.compile(r"[\\'\"]")
LONGEST_TYPED = 4_000
"""Characters of a line whose quotes are read: what reads them takes the square of its length."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# `<url>` is no redirection: it stands for something.
_REDIRECTS = re.compile(r"(?:\d|&)?(?:>>?|<)(?P<target>&?[^<>]*)")
_REQUEST = re.compile(
    r"^\s*(?:(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|TRACE|QUERY)\s+)?(?P<path>(?:https?://[^/\s]+)?/\S*)\s*$",
    re.IGNORECASE,
)
# `{id}`, `{{id}}`, `<int:id>`, `[id]`; a whole segment may be `:id`, `$ID` or `*` as well.
_BRACKETED = re.compile(r"\{\{?[^{}/]*\}\}?|<[^<>/]*>|\[[^\[\]/]*\]|\$\{[^{}/]*\}")
_WHOLE = re.compile(r":\w[\w-]*|\$\w+|\*")


class Request(NamedTuple):
    """A request as the user named it: its method in capitals, or none, and the path as it was written."""

    method: str
    path: str


def spell(text: str) -> str:
    """Return the lookup form of a name: its words, lower case, single spaces, without quotes and punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
    return " ".join(WORD.findall(plain))[:NAME_CHARS]


def words_typed(text: str) -> list[str]:
    """Return the words of a command line as a shell splits them, without a prompt; at spaces if a quote stays open.

    A line of more than 4,000 characters is split at spaces, too.
    """
    line = _PROMPT.sub("", text.strip().strip("`"))
    if len(line) > LONGEST_TYPED or not _QUOTES_IN.search(line):
        return line.split()
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def commands_typed(text: str) -> list[str]:
    """Return the commands of a line, each without what is the shell's: `a | b`, `A=1 sudo a > file  # why`."""
    found = [_without_shell(words_typed(part)) for part in _parts_of(_PROMPT.sub("", text.strip().strip("`")))]
    return [shlex.join(words) for words in found if words] or [text]


def _parts_of(line: str) -> list[str]:
    """Return a line cut where a shell cuts it: at operators that stand apart from a word, outside of quotes."""
    parts, begins, quote, escaped = list[str](), 0, "", -1
    for found in _MARKS.finditer(line):
        mark, place = found[0], found.start()
        before, after = line[place - 1 : place], line[place + 1 : place + 2]
        apart = not before.strip() or not after.strip(" \t\n|&")
        if place == escaped:
            continue
        if mark == "\\" and quote != "'":
            escaped = place + 1
        elif quote or mark in "'\"":
            quote = "" if mark == quote else quote or mark
        elif mark == "#" and apart and not after.strip():
            line = line[:place]
            break
        elif mark in "|;&\n" and apart and before != ">" and after != ">":
            parts.append(line[begins:place])
            begins = place + 1
    return [part for part in (*parts, line[begins:]) if part.strip()]


def _without_shell(words: list[str]) -> list[str]:
    begins = 0
    while begins < len(words) - 1 and (words[begins] == "sudo" or _ASSIGNMENT.match(words[begins])):
        begins += 1
    kept, is_target = list[str](), False
    for word in words[begins:]:
        redirects = _REDIRECTS.fullmatch(word)
        if not redirects and not is_target:
            kept.append(word)
        is_target = bool(redirects) and not redirects["target"] if redirects else False
    return kept


def request_in(text: str) -> Request | None:
    """Return a text as a request, such as `GET /users/12` or an address; None when it is something else."""
    found = _REQUEST.match(text.strip().strip("`'\""))
    return Request((found["method"] or "").upper(), found["path"]) if found else None


def path_form(path: str) -> str:
    """Return the lookup form of a path: `/users/{}` for `/users/{id}/`, `/users/:id`, `https://host/users/<id>?a=b`.

    A path with values in it, such as `/users/123`, stays as it is: see `path_candidates`.
    """
    given = path.strip()
    bare = path_in(given) if given.startswith(("http://", "https://")) else given.split("?")[0].split("#")[0]
    segments = [_segment(segment) for segment in unquote(bare).split("/") if segment]
    return ("/" + "/".join(segments))[:NAME_CHARS].casefold()


def path_candidates(form: str) -> list[str]:
    """Return every template that a path may match, itself included: any segment may be a value.

    In a very long path only the last segments are varied, so that there are at most MOST_CANDIDATES.
    """
    choices = [_choices(segment) for segment in form.split("/")[1:]]
    for place, options in enumerate(choices):
        if prod(map(len, choices)) <= MOST_CANDIDATES:
            break
        choices[place] = options[:1]
    return ["/" + "/".join(parts) for parts in product(*choices)]


def _segment(segment: str) -> str:
    return PARAMETER if _WHOLE.fullmatch(segment) else _BRACKETED.sub(PARAMETER, segment)


def _choices(segment: str) -> list[str]:
    """Return what a segment may match: itself, a parameter, or one with an ending such as `.json` or `:activate`."""
    if PARAMETER in segment:
        return [segment]
    endings = [PARAMETER + segment[segment.index(mark) :] for mark in ".:" if mark in segment[1:]]
    return [segment, PARAMETER, *endings]

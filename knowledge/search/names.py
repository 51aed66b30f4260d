"""Names in the form they are looked up in: commands, endpoints, anything, however the user has typed them."""

import re
import shlex
import unicodedata
from itertools import product
from math import prod
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from knowledge.models.references import NAME_CHARS

PARAMETER = "{}"
"""Placeholder of a parameter in a path."""
MOST_CANDIDATES = 1024
"""Limit of the templates tried for one path: they double with every segment."""

_WORD = re.compile(r"[^\W_]+")
_QUOTES = str.maketrans(dict.fromkeys("`'\"“”‘’«»", ""))
_PROMPT = re.compile(r"^\s*[$>%#]\s+")
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
    return " ".join(_WORD.findall(plain))[:NAME_CHARS]


def words_typed(text: str) -> list[str]:
    """Return the words of a command line as a shell splits them, without a prompt; at spaces if a quote stays open."""
    line = _PROMPT.sub("", text.strip().strip("`"))
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def request_in(text: str) -> Request | None:
    """Return a text as a request, such as `GET /users/12` or an address; None when it is something else."""
    found = _REQUEST.match(text.strip().strip("`'\""))
    return Request((found["method"] or "").upper(), found["path"]) if found else None


def path_form(path: str) -> str:
    """Return the lookup form of a path: `/users/{}` for `/users/{id}/`, `/users/:id`, `https://host/users/<id>?a=b`.

    A path with values in it, such as `/users/123`, stays as it is: see `path_candidates`.
    """
    given = path.strip()
    bare = urlsplit(given).path if given.startswith(("http://", "https://")) else given.split("?")[0].split("#")[0]
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

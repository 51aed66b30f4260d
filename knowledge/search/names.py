"""Names as they are looked up: of commands, of endpoints, of anything, however somebody has typed them."""

import re
import shlex
import unicodedata
from itertools import product
from math import prod
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from knowledge.models.references import NAME_CHARS

PARAMETER = "{}"
"""What stands for a parameter in a path."""
MOST_CANDIDATES = 1024

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
    """A request that somebody named: its method in capitals, or none, and the path as it was written."""

    method: str
    path: str


def spell(text: str) -> str:
    """Return a name as it is looked up: its words with single spaces, whatever the case, quotes and punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
    return " ".join(_WORD.findall(plain))[:NAME_CHARS]


def words_typed(text: str) -> list[str]:
    """Return a command line as a shell would split it, without a prompt. An open quote is taken as it stands."""
    line = _PROMPT.sub("", text.strip().strip("`"))
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def request_in(text: str) -> Request | None:
    """Return the request that a text is, such as `GET /users/12` or an address; nothing when it is something else."""
    found = _REQUEST.match(text.strip().strip("`'\""))
    return Request((found["method"] or "").upper(), found["path"]) if found else None


def path_form(path: str) -> str:
    """Return a path as it is looked up: `/users/{}` for `/users/{id}/`, `/users/:id` and `https://host/users/<id>?a=b`.

    A path with values in it, such as `/users/123`, stays as it is: see `path_candidates`.
    """
    given = path.strip()
    bare = urlsplit(given).path if given.startswith(("http://", "https://")) else given.split("?")[0].split("#")[0]
    segments = [_segment(segment) for segment in unquote(bare).split("/") if segment]
    return ("/" + "/".join(segments))[:NAME_CHARS].casefold()


def path_candidates(form: str) -> list[str]:
    """Return every template that a path may be a case of, itself included: any segment may be a value.

    Of a very long path only the last segments may.
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
    """What a segment may stand for: itself, a parameter, or one with an ending such as `.json` or `:activate`."""
    if PARAMETER in segment:
        return [segment]
    endings = [PARAMETER + segment[segment.index(mark) :] for mark in ".:" if mark in segment[1:]]
    return [segment, PARAMETER, *endings]

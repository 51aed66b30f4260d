"""Names in the form they are looked up in, the existing ones most like an unknown one, and words that mean the same."""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from rapidfuzz import fuzz, process

from bigmind.core.replicas import read_cursor
from bigmind.core.text import mention_all
from knowledge.models.references import NAME_CHARS

PARAMETER = "{}"
"""Placeholder of a parameter in a path."""
MOST_CANDIDATES = 1024
"""Limit of the templates tried for one path: they double with every segment."""

_WORD = re.compile(r"[^\W_]+")
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

SUGGESTIONS = 3
SUGGEST_FROM = 2_000
"""How many names callers read from a table to compare: the rest would cost more than the hint is worth."""
ALIKE = 60
"""Similarity of 100 from which a name is suggested."""
SHORTEST = 3
"""Letters that a word needs: shorter ones resemble too many others."""
MISSPELT = 80
"""Similarity of 100 of a misspelt word: two swapped letters in a word of eight still pass."""

BUILT_IN: dict[str, tuple[str, ...]] = {
    "get": ("list", "show", "view", "display", "retrieve", "fetch"),
    "create": ("add", "new", "make"),
    "delete": ("remove", "destroy", "drop"),
    "update": ("edit", "modify", "change"),
    "users": ("user", "people", "members", "employees"),
    "groups": ("group", "teams", "team"),
}
"""The table of the specification: a question about “get all users” means the command that lists them."""

Synonyms = Mapping[str, frozenset[str]]
"""For each word, and each stem as PostgreSQL computes it, all words that mean the same."""


class Request(NamedTuple):
    """A request as the user named it: its method in capitals, or none, and the path as it was written."""

    method: str
    path: str


def spell(text: str) -> str:
    """Return the lookup form of a name: its words, lower case, single spaces, without quotes and punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
    return " ".join(_WORD.findall(plain))[:NAME_CHARS]


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


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of the names that are spelled most like this one, best first, never the name itself."""
    others = [one for one in dict.fromkeys(names) if one != name]
    return [one for one, *_ in process.extract(name, others, limit=SUGGESTIONS, score_cutoff=ALIKE)]


def nearest_or(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint with the nearest names, or `otherwise` when none is near."""
    near = nearest(name, names)
    return f"The nearest: {mention_all(near)}." if near else otherwise


def suggest_words(query: str, *, names: Iterable[str], texts: Iterable[str] = ()) -> list[str]:
    """Return up to three names, or words of the texts, that a misspelt word of a question may stand for.

    Args:
        names: Topics, tags and keys that the user may see.
        texts: Texts that were found: each of their words is a possible correction.
    """
    asked, known = _WORD.findall(query.casefold()), list(dict.fromkeys(names))
    choices = {word: name for name in known for word in (name.casefold(), *_WORD.findall(name.casefold()))}
    choices = {word: word for text in texts for word in _WORD.findall(text.casefold())} | choices
    near = [
        (score, choices[word])
        for one in dict.fromkeys([*asked, query.casefold().strip()])
        if len(one) >= SHORTEST and one not in choices
        for word, score, _ in process.extract(one, list(choices), scorer=fuzz.ratio, score_cutoff=MISSPELT)
        if len(word) >= SHORTEST
    ]
    return list(dict.fromkeys(name for _, name in sorted(near, key=lambda pair: -pair[0])))[:SUGGESTIONS]


def synonyms_of(*tables: Mapping[str, Iterable[str]]) -> Synonyms:
    """Return the built-in synonyms merged with those of collections. Groups that share a word become one group."""
    groups: list[set[str]] = []
    for table in (BUILT_IN, *tables):
        for word, others in table.items():
            group = {name.casefold().strip() for name in (word, *others)} - {""}
            for known in [known for known in groups if known & group]:
                groups.remove(known)
                group |= known
            groups.append(group)
    return _by_word(frozenset(frozenset(group) for group in groups))


def canonical(words: Iterable[str], synonyms: Synonyms) -> str:
    """Return words with each replaced by one representative of its synonyms, so that names compare by meaning."""
    return " ".join(min(synonyms[word]) if word in synonyms else word for word in words)


@cache
def _by_word(groups: frozenset[frozenset[str]]) -> Synonyms:
    stems = _stems(frozenset(word for group in groups for word in group))
    found: dict[str, frozenset[str]] = {}
    for group in groups:
        whole = group | {stems[word] for word in group if word in stems}
        found |= dict.fromkeys(whole, frozenset(whole))
    return found


def _stems(words: frozenset[str]) -> dict[str, str]:
    with read_cursor() as cursor:
        cursor.execute(
            "SELECT word, (ts_lexize('english_stem', word))[1] FROM unnest(%s::text[]) AS word", [sorted(words)]
        )
        return {word: stem for word, stem in cursor.fetchall() if stem}

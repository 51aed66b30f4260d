"""Synonyms: words that mean the same, built in and of collections."""

from collections.abc import Iterable, Mapping

from bigmind.core.load_once import load_once
from bigmind.database.replicas import read_cursor

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


@load_once
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

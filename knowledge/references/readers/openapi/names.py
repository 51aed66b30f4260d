"""What endpoints are called: keys that stay, words to find them by, and which of them belong together."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from bigmind.text.words import CAMEL, WORD
from knowledge.references.readers.openapi.operations import PLACEHOLDER, ApiEndpoint
from knowledge.references.readers.openapi.values import line, listing, mapping, texts

KEY_CHARS = 100
DIGEST_CHARS = 10
KEYWORDS = 25
RELATED = 8
VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?")
# Words of nearly every path: they find nothing.
EMPTY_WORDS = frozenset({"api", "apis", "rest", "v", "the", "a", "an", "of", "by", "to", "for", "and", "or", "in"})


def keys_of(endpoints: Sequence[ApiEndpoint]) -> dict[int, str]:
    """Return the key of each endpoint by its position, such as `api-get-users-id`.

    Where two would have the same one (`/users/{id}` and `/users/id`), each gets a digest of its path,
    so that no key depends on the order of the document.
    """
    plain = [_plain_key(endpoint) for endpoint in endpoints]
    counts = Counter(plain)
    return {
        place: key if counts[key] == 1 else f"{key}-{_digest(endpoint)}"
        for place, (key, endpoint) in enumerate(zip(plain, endpoints, strict=True))
    }


def _plain_key(endpoint: ApiEndpoint) -> str:
    key = "-".join(["api", endpoint.method.lower(), *(word.lower() for word in WORD.findall(endpoint.path))])
    return key if len(key) <= KEY_CHARS else f"{key[: KEY_CHARS - DIGEST_CHARS - 1].rstrip('-')}-{_digest(endpoint)}"


def _digest(endpoint: ApiEndpoint) -> str:
    return hashlib.sha256(f"{endpoint.method} {endpoint.path}".encode()).hexdigest()[:DIGEST_CHARS]


def words_of(name: str) -> list[str]:
    """Return the words of an identifier: `listUsersById`, `list-users_by.id`."""
    return [word.lower() for word in WORD.findall(CAMEL.sub(" ", name))]


def keywords_of(endpoint: ApiEndpoint) -> tuple[str, ...]:
    """Return the words to find an endpoint by: of its path, its identifier and its tags."""
    names = [endpoint.operation_id, PLACEHOLDER.sub(" ", endpoint.path), *endpoint.tags]
    names += PLACEHOLDER.findall(endpoint.path)
    words = [word for name in names for word in words_of(name) if len(word) > 1 and not VERSION.fullmatch(word)]
    return tuple(word for word in dict.fromkeys(words) if word not in EMPTY_WORDS)[:KEYWORDS]


def aliases_of(endpoint: ApiEndpoint) -> tuple[str, ...]:
    """Return what else an endpoint is called: its identifier, that in words, its line without the base path."""
    words = " ".join(words_of(endpoint.operation_id))
    aliases = [endpoint.operation_id, words, f"{endpoint.method} {endpoint.path}"]
    return tuple(dict.fromkeys(alias for alias in aliases if alias and alias != endpoint.name))


class Groups:
    """Which endpoints belong together: by tags, by groups of tags, by the resource of their path."""

    def __init__(self, endpoints: Sequence[ApiEndpoint], raw: dict[str, object]) -> None:
        self._endpoints = endpoints
        self._group_of_tag = _groups_of_tags(raw)
        self._by_path: dict[str, list[int]] = defaultdict(list)
        self._by_resource: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, endpoint in enumerate(endpoints):
            self._by_path[endpoint.path].append(place)
            self._by_resource[_resource(endpoint)].append(place)

    def category_of(self, endpoint: ApiEndpoint) -> tuple[str, str]:
        """Return category and subcategory: a group of tags and the tag, two tags, or words of the path."""
        tags = endpoint.tags
        if tags and tags[0] in self._group_of_tag:
            return self._group_of_tag[tags[0]], tags[0]
        named = tags or _literal_parts(endpoint.path)
        return (named[0] if named else ""), (named[1] if len(named) > 1 else "")

    def find_related(self, place: int) -> list[int]:
        """Return the endpoints on the same path, then those of the same resource and tag."""
        endpoint = self._endpoints[place]
        near = [*self._by_path[endpoint.path], *self._by_resource[_resource(endpoint)]]
        return [other for other in dict.fromkeys(near) if other != place][:RELATED]


def _resource(endpoint: ApiEndpoint) -> tuple[str, str]:
    """The collection that a path is about: `/users/{id}` is about `/users`."""
    path = endpoint.path.rstrip("/")
    while path.endswith("}") and "/" in path:
        path = path.rpartition("/")[0]
    return (endpoint.tags[0] if endpoint.tags else ""), path


def _literal_parts(path: str) -> list[str]:
    parts = (part for part in path.split("/") if part and "{" not in part)
    return [line(part, 100) for part in parts if part.lower() not in EMPTY_WORDS and not VERSION.fullmatch(part)]


def _groups_of_tags(raw: dict[str, object]) -> dict[str, str]:
    groups: Iterable[dict[str, object]] = map(mapping, listing(raw.get("x-tagGroups")))
    return {tag: line(group.get("name"), 100) for group in groups for tag in texts(group.get("tags"))}

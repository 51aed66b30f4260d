"""The text of an anchor: `acme/shop#src/limits.py:RateLimiter.allow@3f2a1bc`."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from bigmind.privacy.screening.policy import NoSecrets
from bigmind.text.hygiene import check_content, echo
from knowledge.parsers.repositories import plain_repository

ANCHOR_CHARS = 300
MOST_ANCHORS = 20
TOLD_CHARS = ANCHOR_CHARS + 65
"""With the commit at which it was checked last, which is not the one that it was stored with."""
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_STATED_VERSION = re.compile(r"[ <>=!~^]")
_FORM = "write repository#path:symbol@commit, as in acme/shop#src/limits.py:RateLimiter.allow@3f2a1bc"


class AnchorKind(StrEnum):
    """What of a file an anchor cites."""

    FILE = "file"
    SYMBOL = "symbol"
    SETTING = "setting"
    DEPENDENCY = "dependency"
    COMMAND = "command"


_KINDS_NAMED = {AnchorKind.SETTING, AnchorKind.DEPENDENCY, AnchorKind.COMMAND, AnchorKind.SYMBOL}


@dataclass(frozen=True)
class Anchor:
    """A place in code that an entry rests on.

    `states` is what the entry says of it: the value of a setting, the versions of a dependency. `repository` and
    `commit` may be empty: then it is checked in every repository that has the file, against the commit before.
    """

    path: str
    kind: AnchorKind = AnchorKind.FILE
    name: str = ""
    states: str = ""
    repository: str = ""
    commit: str = ""

    def __str__(self) -> str:
        repository = f"{self.repository}#" if self.repository else ""
        return f"{repository}{self.cited}{f'@{self.commit}' if self.commit else ''}"

    @property
    def cited(self) -> str:
        """What is cited, without repository and commit."""
        if self.kind is AnchorKind.FILE:
            return self.path
        if self.kind is AnchorKind.SYMBOL:
            return f"{self.path}:{f'symbol {self.name}' if self.name in _KINDS_NAMED else self.name}"
        sign = "=" if self.kind is AnchorKind.SETTING else "" if _STATED_VERSION.match(self.states) else " "
        return f"{self.path}:{self.kind} {self.name}{sign if self.states else ''}{self.states}"

    @property
    def simple_name(self) -> str:
        """The last part of a name: `allow` of `RateLimiter.allow`."""
        return self.name.rpartition(".")[2]

    def is_of(self, repository: str) -> bool:
        """Whether it is checked in a repository: its own, or any if it names none. `acme/shop` is any host's."""
        mine, theirs = plain_repository(self.repository), plain_repository(repository)
        return not mine or not theirs or mine == theirs or theirs.endswith(f"/{mine}") or mine.endswith(f"/{theirs}")

    def at(self, commit: str) -> "Anchor":
        """Return it as cited at another commit."""
        return replace(self, commit=commit)

    @property
    def reads_back(self) -> bool:
        """Whether its text, read again, is the same anchor: not every file that git can hold has a name to cite."""
        text = str(self)
        try:
            # The sign for what is no UTF-8 stands for any byte.
            return text.isprintable() and "\ufffd" not in text and parse_anchor(text) == self
        except ValueError:
            return False


def parse_anchor(text: str) -> Anchor:
    """Return the anchor that a text writes.

    Raises:
        ValueError: it is none; the message says what is missing.
    """
    text = text.strip()
    place, at, commit = text.rpartition("@")
    if not at or not _COMMIT.fullmatch(commit.strip()):
        place, commit = text, ""
    if len(place) > ANCHOR_CHARS:
        raise ValueError(f"has an anchor of {len(place)} characters; the limit is {ANCHOR_CHARS}")
    repository, sharp, cited = place.partition("#")
    # `lib/a.rb:A#b` names a method; a repository has no colon before its path.
    if not sharp or (":" in repository and "://" not in repository and not repository.startswith("git@")):
        repository, cited = "", place
    path, _, rest = cited.partition(":")
    return _anchor(text, _path(text, path.strip()), rest.strip(), plain_repository(repository), commit.strip())


def read_anchor(text: str) -> Anchor | None:
    """Return the anchor of a text that is stored; None for what is none: it was one once, or a text was removed."""
    try:
        return parse_anchor(text)
    except ValueError:
        return None


def join_anchors(new: list[str], old: list[str]) -> list[str]:
    """Return new anchors, and those of before that cite another place. What cannot be read stays behind."""
    places = {anchor.cited for text in new if (anchor := read_anchor(text))}
    kept = [text for text in old if (anchor := read_anchor(text)) and anchor.cited not in places]
    return [*new, *kept][:MOST_ANCHORS]


def _path(text: str, path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or not path.isprintable():
        raise ValueError(f"has {echo(text)}, which names no file of a repository: {_FORM}")
    return str(PurePosixPath(path))


def _anchor(text: str, path: str, rest: str, repository: str, commit: str) -> Anchor:
    first, _, other = rest.partition(" ")
    if not rest:
        return Anchor(path, repository=repository, commit=commit)
    if first not in _KINDS_NAMED:
        kind, other = AnchorKind.SYMBOL, rest
    else:
        kind = AnchorKind(first)
    name, states = _name_and_statement(kind, other.strip())
    if not name or (kind is AnchorKind.SYMBOL and " " in name):
        raise ValueError(f"has {echo(text)}, which names no {kind}: {_FORM}")
    return Anchor(path, kind, name, states, repository, commit)


def _name_and_statement(kind: AnchorKind, text: str) -> tuple[str, str]:
    if kind is AnchorKind.SETTING:
        name, _, states = text.partition("=")
        return name.strip(), states.strip()
    if kind is AnchorKind.DEPENDENCY:
        # The first letter is the name's: npm has `@types/node`.
        found = _STATED_VERSION.search(text, 1)
        return (text[: found.start()], text[found.start() :].strip()) if found else (text, "")
    if kind is AnchorKind.SYMBOL:
        return text.replace("::", ".").replace("#", ".").removesuffix("()"), ""
    return text, ""


def write_anchor(text: str) -> str:
    """Return the one form in which an anchor is stored.

    Raises:
        ValueError: it is none, or its form would be too long or read as another one.
    """
    anchor = parse_anchor(text)
    if not anchor.reads_back:
        raise ValueError(f"has {echo(text)}, which cannot be told from another one: {_FORM}")
    if len(str(anchor)) > ANCHOR_CHARS:
        raise ValueError(f"has an anchor of {len(str(anchor))} characters; the limit is {ANCHOR_CHARS}")
    return str(anchor)


def _canonical(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(write_anchor(text) for text in texts if text.strip()))


Anchors = Annotated[
    list[Annotated[str, AfterValidator(check_content), NoSecrets, Field(max_length=ANCHOR_CHARS)]],
    AfterValidator(_canonical),
    Field(max_length=MOST_ANCHORS, description="Code it rests on: repo#path:symbol."),
]
"""Anchors as an operation takes them: each is read, and written in its one form."""

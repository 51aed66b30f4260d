"""Whether a change of code makes an entry false: each of its anchors is compared before and after."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from bigmind.core.errors import Invalid
from knowledge.parsers.syntax_trees import language_of

from . import manifests
from .grammar import Anchor, AnchorKind
from .history import ChangedFile, CodeChanges, Repository
from .syntax import LARGEST_SOURCE, Definition, ParsedCode, parse_definitions

TELLING_SIZE = 12
"""From how many tokens on a body says by itself which definition it is."""
CHARS = 80

Content = TypeVar("Content")


class AnchorVerdict(StrEnum):
    """What a change means for an anchor."""

    HOLDS = "holds"
    MOVED = "moved"
    DOUBTFUL = "doubtful"
    FALSE = "false"
    UNKNOWN = "unknown"


HOLDS, MOVED, DOUBTFUL, FALSE, UNKNOWN = AnchorVerdict


@dataclass(frozen=True)
class Edit:
    """A change of an entry that keeps it true: one text instead of another, one anchor instead of another."""

    old: str
    new: str


@dataclass(frozen=True)
class AnchorFinding:
    """The verdict on one anchor."""

    anchor: Anchor
    verdict: AnchorVerdict
    reason: str = ""
    path: str = ""
    """The file of the change that it is about."""
    line: int = 0
    moved_to: Anchor | None = None
    edit: Edit | None = None

    @property
    def is_affected(self) -> bool:
        """Whether someone has to look at the entry."""
        return self.verdict in {FALSE, DOUBTFUL}


class _Unreadable(Exception):
    """A file that cannot be read, and why."""


@dataclass(frozen=True)
class _CodeFile:
    """A file at one side of a change; read and parsed once."""

    path: str
    content: bytes | None

    @cached_property
    def text(self) -> str:
        if self.content is None:
            raise _Unreadable(f"`{self.path}` is too large to read")
        return _decode(self.content)

    @cached_property
    def parsed(self) -> ParsedCode:
        if not self.content:
            return ParsedCode()
        try:
            return parse_definitions(self.content, language_of(self.path), self.path)
        except Invalid as refusal:
            raise _Unreadable(str(refusal)) from None

    @cached_property
    def settings(self) -> dict[str, str]:
        return self._read(manifests.settings_of)

    @cached_property
    def dependencies(self) -> dict[str, str]:
        return self._read(manifests.dependencies_of)

    @cached_property
    def commands(self) -> frozenset[str]:
        if not language_of(self.path):
            return self._read(manifests.commands_of)
        # A program names its commands in texts, or by its functions: `def add_user` is `add-user`.
        words = (word for text in self.parsed.strings for word in text.replace("/", " ").replace(",", " ").split())
        named = {each.simple_name for each in self.parsed.definitions.values()}
        return frozenset([*words, *self.parsed.strings, *named, *(name.replace("_", "-") for name in named)])

    def line_of(self, text: str) -> int:
        before, found, _ = self.text.partition(text)
        return before.count("\n") + 1 if found else 0

    def _read(self, reader: Callable[[str, str], Content]) -> Content:
        try:
            return reader(self.path, self.text)
        except ValueError as error:
            raise _Unreadable(f"`{self.path}` cannot be read: {str(error)[:CHARS]}") from None


@dataclass
class CodeComparison:
    """The two sides of a change, for the anchors of many entries."""

    repository: Repository
    changes: CodeChanges
    _files: dict[tuple[str, str], _CodeFile] = field(default_factory=dict)

    def judge(self, anchor: Anchor, text: str = "") -> AnchorFinding:
        """Return what the change means for one anchor of an entry with this text."""
        change = self.changes.by_old_path.get(anchor.path)
        if change is None:
            return self._judge_same(anchor)
        try:
            return self._judge(anchor, change, text)
        except _Unreadable as why:
            return AnchorFinding(anchor, DOUBTFUL, f"{why}, and it has changed.", change.after or change.before)

    def _judge_same(self, anchor: Anchor) -> AnchorFinding:
        if self.repository.find_file(self.changes.head, anchor.path):
            return AnchorFinding(anchor, HOLDS)
        return _was_not_there(anchor, anchor.path)

    def _judge(self, anchor: Anchor, change: ChangedFile, text: str) -> AnchorFinding:
        before = self._file(change.before, change.before_id)
        after = self._file(change.after, change.after_id) if change.after_id else None
        if anchor.kind is AnchorKind.FILE:
            return self._judge_file(anchor, before, after)
        if anchor.kind is AnchorKind.DEPENDENCY:
            return _judge_dependency(anchor, before, after, text)
        if anchor.kind is AnchorKind.COMMAND:
            return _judge_command(anchor, before, after)
        if anchor.kind is AnchorKind.SETTING and not language_of(anchor.path):
            return _judge_setting(anchor, before, after, text)
        return self._judge_symbol(anchor, before, after, text)

    def _judge_file(self, anchor: Anchor, before: _CodeFile, after: _CodeFile | None) -> AnchorFinding:
        if after is None:
            return AnchorFinding(anchor, FALSE, f"`{anchor.path}` is gone.", anchor.path)
        moved = _find_move(anchor, after, anchor.name)
        if _whole(before) == _whole(after):
            return moved or AnchorFinding(anchor, HOLDS)
        return AnchorFinding(
            anchor,
            DOUBTFUL,
            f"`{anchor.path}` changed.",
            after.path,
            1,
            moved.moved_to if moved else None,
        )

    def _judge_symbol(self, anchor: Anchor, before: _CodeFile, after: _CodeFile | None, text: str) -> AnchorFinding:
        was = before.parsed.find(anchor.name)
        if was is None:
            return _was_not_there(anchor, anchor.cited)
        now = after.parsed.find(was.name) if after else None
        if after is not None and now is not None:
            return _compare(anchor, was, now, after, text)
        if found := self._find_elsewhere(was, after):
            file, there = found
            return _compare(anchor, was, there, file, text)
        # What cannot be parsed may still have it.
        if after is not None and after.parsed.has_error:
            reason = f"`{anchor.name}` is not found in `{after.path}`, which cannot be parsed."
            return AnchorFinding(anchor, DOUBTFUL, reason, after.path, 1)
        path = after.path if after else anchor.path
        return AnchorFinding(anchor, FALSE, f"`{was.name}` is gone from `{anchor.path}`.", path, 1 if after else 0)

    def _find_elsewhere(self, was: Definition, same_file: _CodeFile | None) -> "tuple[_CodeFile, Definition] | None":
        """Return where something that is gone has come up again, if there is only one such place.

        What has the same body counts, under its own name or another; then what has its whole name. A way that leads to
        several places is passed over: a guess would let the entry cite code that it is not about.
        """
        new = list(self._new_definitions(was, same_file))
        same = [each for each in new if each[1].is_same(was)]
        ways = (
            [each for each in same if each[1].name == was.name],
            [each for each in same if each[1].simple_name == was.simple_name],
            [each for each in same if was.size >= TELLING_SIZE],
            [each for each in new if each[1].name == was.name],
        )
        return next((found[0] for found in ways if len(found) == 1), None)

    def _new_definitions(
        self, was: Definition, same_file: _CodeFile | None
    ) -> "Iterable[tuple[_CodeFile, Definition]]":
        for change in self.changes.all:
            if not change.after_id or not language_of(change.after) or change.before_id == change.after_id:
                continue
            file = self._file(change.after, change.after_id)
            is_same_file = same_file is not None and file.path == same_file.path
            if not is_same_file and not _may_have(file, was):
                continue
            old = self._file(change.before, change.before_id).parsed.definitions if change.before_id else {}
            for each in file.parsed.definitions.values():
                if each.name not in old:
                    yield file, each

    def _file(self, path: str, object_id: str) -> _CodeFile:
        if (path, object_id) not in self._files:
            self._files[path, object_id] = _CodeFile(path, self.repository.read(object_id, LARGEST_SOURCE))
        return self._files[path, object_id]


def _was_not_there(anchor: Anchor, cited: str) -> AnchorFinding:
    return AnchorFinding(anchor, UNKNOWN, f"`{cited}` was not there before this change.")


def _may_have(file: _CodeFile, was: Definition) -> bool:
    """Return whether a file can have a definition, without parsing it."""
    content = file.content or b""
    return was.simple_name.encode() in content or bool(was.rare and all(word.encode() in content for word in was.rare))


def _compare(anchor: Anchor, was: Definition, now: Definition, file: _CodeFile, text: str) -> AnchorFinding:
    """Compare a definition before and after, wherever it is now."""
    moved = _find_move(anchor, file, anchor.name if now.name == was.name else now.name)
    moved_to = moved.moved_to if moved else None
    # Of a variable, only what it is set to counts: an annotation changes nothing.
    if was.value is not None and was.body != now.body:
        found = _judge_value(anchor, was.value, now.value or "", text)
        return replace(found, path=file.path, line=now.line, moved_to=moved_to)
    if was.value is not None or was.is_same(now):
        if moved is None:
            return AnchorFinding(anchor, HOLDS)
        edit = Edit(was.simple_name, now.simple_name) if was.simple_name != now.simple_name else None
        return replace(moved, line=now.line, edit=edit)
    lost = sorted(word for word in was.words - now.words if word in _words(text))
    if lost:
        reason = f"The signature of `{was.name}` has `{lost[0]}` no more, which the entry names."
        return AnchorFinding(anchor, FALSE, reason, file.path, now.line, moved_to)
    part = "signature" if was.signature != now.signature else "body"
    return AnchorFinding(anchor, DOUBTFUL, f"The {part} of `{was.name}` changed.", file.path, now.line, moved_to)


def _find_move(anchor: Anchor, file: _CodeFile, name: str) -> AnchorFinding | None:
    """Return that something stands elsewhere now; None where it does not."""
    moved_to = replace(anchor, path=file.path, name=name)
    if moved_to == anchor:
        return None
    if not moved_to.reads_back:
        reason = f"It is `{moved_to.cited}` now, which no anchor can cite."
        return AnchorFinding(anchor, DOUBTFUL, reason, file.path, 1)
    return AnchorFinding(anchor, MOVED, f"It is `{moved_to.cited}` now.", file.path, 1, moved_to)


def _judge_value(anchor: Anchor, was: str, now: str, text: str) -> AnchorFinding:
    """Return the verdict on a value that changed."""
    was, now = _plain_value(was), _plain_value(now)
    what = f"`{anchor.name}` was `{was[:CHARS]}` and is `{now[:CHARS]}`"
    if anchor.states:
        if _plain_value(anchor.states) == now or _contains(now, anchor.states):
            return AnchorFinding(anchor, HOLDS)
        return AnchorFinding(anchor, FALSE, f"{what}; the entry says `{anchor.states}`.", edit=_edit(was, now))
    for old, new in _value_pairs(was, now):
        if _contains(text, old):
            return AnchorFinding(anchor, FALSE, f"{what}, which the entry says.", edit=_edit(old, new))
    return AnchorFinding(anchor, DOUBTFUL, f"{what}.")


def _edit(old: str, new: str) -> Edit | None:
    """Return an edit of an entry; none where code says it at length, or in characters that no text may have."""
    return Edit(old, new) if old and new and new.isprintable() and max(len(old), len(new)) <= CHARS else None


def _value_pairs(was: str, now: str) -> list[tuple[str, str]]:
    """Return what of a value changed to what: the whole, and where one word of it did, that word."""
    old, new = _pieces(was), _pieces(now)
    parts = [(was, now)]
    if len(old) == len(new):
        parts += [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    return [(one, other) for one, other in parts if any(sign.isalnum() for sign in one)]


def _judge_setting(anchor: Anchor, before: _CodeFile, after: _CodeFile | None, text: str) -> AnchorFinding:
    was = before.settings.get(anchor.name)
    if was is None:
        return _was_not_there(anchor, anchor.cited)
    now = after.settings.get(anchor.name) if after else None
    if after is None or now is None:
        return AnchorFinding(anchor, FALSE, f"The setting `{anchor.name}` is gone from `{anchor.path}`.", anchor.path)
    if was == now:
        return _find_move(anchor, after, anchor.name) or AnchorFinding(anchor, HOLDS)
    line = after.line_of(anchor.simple_name)
    return replace(_judge_value(anchor, was, now, text), path=after.path, line=line)


def _judge_dependency(anchor: Anchor, before: _CodeFile, after: _CodeFile | None, text: str) -> AnchorFinding:
    name = manifests.plain_name(anchor.name)
    was = before.dependencies.get(name)
    if was is None:
        return _was_not_there(anchor, anchor.cited)
    now = after.dependencies.get(name) if after else None
    if after is None or now is None:
        return AnchorFinding(anchor, FALSE, f"`{anchor.path}` does not ask for {anchor.name} any more.", anchor.path)
    line = after.line_of(anchor.name)
    if was == now:
        return _find_move(anchor, after, anchor.name) or AnchorFinding(anchor, HOLDS)
    versions = f"{anchor.name} was `{was[:CHARS]}` and is `{now[:CHARS]}`"
    stated = anchor.states or manifests.version_in(was, text)
    outside = manifests.is_outside(now, stated)
    if outside:
        edit = _edit(stated, manifests.same_length(now, stated)) if not anchor.states else None
        return AnchorFinding(anchor, FALSE, f"{versions}; the entry says `{stated}`.", after.path, line, edit=edit)
    if outside is None and manifests.major_of(was) != manifests.major_of(now):
        return AnchorFinding(anchor, DOUBTFUL, f"{versions}.", after.path, line)
    return AnchorFinding(anchor, HOLDS)


def _judge_command(anchor: Anchor, before: _CodeFile, after: _CodeFile | None) -> AnchorFinding:
    words = [word.partition("=")[0] for word in anchor.name.split()]
    known = [word for word in words if word in before.commands]
    if not known:
        return _was_not_there(anchor, anchor.cited)
    gone = [word for word in known if after is None or word not in after.commands]
    if gone or after is None:
        kind = "option" if gone[0].startswith("-") else "command"
        path, line = (after.path, 1) if after else (anchor.path, 0)
        return AnchorFinding(anchor, FALSE, f"The {kind} `{gone[0]}` is gone from `{anchor.path}`.", path, line)
    return _find_move(anchor, after, anchor.name) or AnchorFinding(anchor, HOLDS)


def _decode(content: bytes) -> str:
    """Return the text of a file; Windows writes which encoding it has at its beginning."""
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
    encoding = next((name for mark, name in marks.items() if content.startswith(mark)), "utf-8")
    return content.decode(encoding, errors="replace").removeprefix("\ufeff")


def _whole(file: _CodeFile) -> str:
    if language_of(file.path):
        return file.parsed.whole
    return " ".join(file.text.split())


def _plain_value(value: str) -> str:
    return " ".join(value.split()).strip("\"'` ")


def _pieces(text: str) -> list[str]:
    """Return the words and numbers of a text; `1.5` and `a_b` are one."""
    plain = "".join(sign if sign.isalnum() or sign in "._-" else " " for sign in text)
    return [piece.strip(".-") for piece in plain.split() if piece.strip(".-")]


def _words(text: str) -> set[str]:
    return set(_pieces(text.replace(".", " ").replace("-", " ")))


def _contains(text: str, part: str) -> bool:
    """Return whether a text has another in it as whole words."""
    inside, part_text = f" {' '.join(_pieces(text))} ", " ".join(_pieces(_plain_value(part)))
    return bool(part_text) and f" {part_text} " in inside

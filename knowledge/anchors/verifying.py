"""Entries against a repository: what a change makes false, and the edit that would keep it true."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from bigmind.core.errors import Invalid
from knowledge.shapes.anchors import AnchoredItemShape

from .grammar import ANCHOR_CHARS, Anchor, parse_anchor
from .history import EMPTY_TREE, CodeChanges, Repository
from .judging import AnchorFinding, AnchorVerdict, CodeComparison

LARGEST_SET = 64 * 1024 * 1024
_WORST = (AnchorVerdict.FALSE, AnchorVerdict.DOUBTFUL, AnchorVerdict.MOVED, AnchorVerdict.UNKNOWN, AnchorVerdict.HOLDS)


class AnchoredEntry(AnchoredItemShape):
    """An entry and what it rests on, as `anchors_list` returns it and a file of exported anchors holds it."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    @property
    def text(self) -> str:
        """What it says."""
        return f"{self.title}\n{self.content}"


@dataclass(frozen=True)
class EntryResult:
    """What a change means for one entry."""

    entry: AnchoredEntry
    findings: Sequence[AnchorFinding]

    @cached_property
    def verdict(self) -> AnchorVerdict:
        """The worst of its anchors."""
        return min((finding.verdict for finding in self.findings), key=_WORST.index)

    @property
    def reason(self) -> str:
        """Why, in a sentence for each anchor that is affected."""
        return " ".join(dict.fromkeys(found.reason for found in self.findings if found.verdict is self.verdict))

    @cached_property
    def edited_title(self) -> str:
        """The title with what the change makes of it."""
        return self._edit(self.entry.title)

    @cached_property
    def edited_content(self) -> str:
        """The text with what the change makes of it: a new name, another value."""
        return self._edit(self.entry.content)

    @property
    def offers_edit(self) -> bool:
        """Whether the text can be kept true by changing words of it."""
        return (self.edited_title, self.edited_content) != (self.entry.title, self.entry.content)

    def anchors_after(self, commit: str) -> list[str]:
        """Return its anchors as they are after the change: moved ones at their new place, checked ones at a commit."""
        after: dict[str, str] = {}
        for finding in self.findings:
            now = finding.moved_to or finding.anchor
            if finding.edit and now.states == finding.edit.old:
                now = replace(now, states=finding.edit.new)
            checked = now if finding.verdict is AnchorVerdict.UNKNOWN else now.at(commit)
            after[str(finding.anchor)] = str(checked if len(str(checked)) <= ANCHOR_CHARS else checked.at(""))
        return [after.get(anchor, anchor) for anchor in self.entry.anchors]

    def _edit(self, text: str) -> str:
        for finding in self.findings:
            if finding.edit:
                text = _occurrences(finding.edit.old).sub(finding.edit.new.replace("\\", r"\\"), text)
        return text


@dataclass(frozen=True)
class Verification:
    """What was compared, and what came of it."""

    repository: str
    base: str
    head: str
    results: Sequence[EntryResult] = field(default_factory=list)

    def of(self, *verdicts: AnchorVerdict) -> list[EntryResult]:
        """Return the entries with one of these verdicts."""
        return [result for result in self.results if result.verdict in verdicts]


def read_anchor_set(file: Path) -> list[AnchoredEntry]:
    """Read a file of exported anchors: the reply of `anchors_list`, or the list alone.

    Raises:
        Invalid: it is none.
    """
    try:
        if file.stat().st_size > LARGEST_SET:
            raise Invalid(f"{file} is larger than {LARGEST_SET // 2**20} MB.")
        document = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Invalid(f"{file} cannot be read as exported anchors: {error}.") from None
    return read_entries(document.get("items") if isinstance(document, dict) else document)


def read_entries(items: object) -> list[AnchoredEntry]:
    """Validate entries with their anchors.

    Raises:
        Invalid: they are no list of entries with anchors.
    """
    if not isinstance(items, list):
        raise Invalid("There is no list of entries.", hint="`bigmind verify --save FILE` writes one.")
    try:
        return [AnchoredEntry.model_validate(item) for item in items]
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise Invalid(f"An entry cannot be read: {where} {error.errors()[0]['msg'].lower()}.") from None


def verify(
    repository: Repository,
    entries: Iterable[AnchoredEntry],
    *,
    head: str,
    base: str = "",
    name: str = "",
) -> Verification:
    """Return what the change from one commit to another means for entries.

    Without `base`, each anchor is compared with the commit that it names, so that it shows what has changed since the
    entry was written; what names none, or one that this clone has not, is only looked for.

    Args:
        name: What the repository is called; anchors of other repositories are left out.
    """
    comparisons: dict[str, CodeComparison] = {}
    results = []
    for entry in entries:
        findings = list[AnchorFinding]()
        for text in entry.anchors:
            try:
                anchor = parse_anchor(text)
            except ValueError as error:
                # One that cannot be read must not keep the others from being compared.
                findings.append(AnchorFinding(Anchor(text, repository=name), AnchorVerdict.UNKNOWN, f"It {error}."))
                continue
            if anchor.is_of(name):
                comparison = _compare_since(repository, comparisons, base or anchor.commit, head)
                findings.append(comparison.judge(anchor, entry.text))
        # Without a repository of its own an anchor may belong to any: only where its file is does it say something.
        reported = [each for each in findings if each.verdict is not AnchorVerdict.UNKNOWN or each.anchor.repository]
        if reported:
            results.append(EntryResult(entry, reported))
    return Verification(name, base, head, results)


def _compare_since(repository: Repository, known: dict[str, CodeComparison], base: str, head: str) -> CodeComparison:
    if base not in known:
        # A tree is no commit, and a commit that this clone has not leaves nothing to compare.
        begins = repository.find_commit(base) or (base if base == EMPTY_TREE else head)
        known[base] = CodeComparison(
            repository, repository.changes(begins, head) if begins != head else CodeChanges(head, head)
        )
    return known[base]


def _occurrences(old: str) -> re.Pattern[str]:
    """Return what finds a text as a whole word: 5 is no part of 50 or 1.5, and `allow` is no name in a sentence."""
    word = re.escape(old)
    if old[:1].isdigit():
        return re.compile(rf"(?<![\w.]){word}(?!\w|\.\d)")
    if old.isalpha() and old.islower():
        return re.compile(rf"(?<=[`.]){word}(?!\w)|(?<!\w){word}(?=\()")
    return re.compile(rf"(?<!\w){word}(?!\w)")

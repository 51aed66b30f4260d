"""Architecture decision records, as Nygard or MADR write them: a summary of the record, and the decision as a fact."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from markdown_it.tree import SyntaxTreeNode

from bigmind.text.hygiene import one_line
from knowledge.parsers.entries import SourceEntry, make_entry, slug
from knowledge.parsers.markdown import infer_tags
from knowledge.parsers.outline import Outline, OutlineSection, read_outline, text_of, words_of

NUMBERED = re.compile(r"(?:adr[-\s]*)?(?P<number>\d{1,5})\s*[.:–—-]*\s*(?P<title>.*)", re.IGNORECASE)
LABELLED = re.compile(r"(?P<name>status|date|deciders|decision-makers)\s*:\s*(?P<value>.+)", re.IGNORECASE)
STATUSES = {
    "superseded": ("superseded", "replaced"),
    "deprecated": ("deprecated", "obsolete", "retired"),
    "rejected": ("rejected", "declined", "withdrawn", "abandoned"),
    "proposed": ("proposed", "pending", "in review", "under discussion"),
    "draft": ("draft", "wip"),
    "accepted": ("accepted", "approved", "decided", "adopted", "implemented"),
}
"""Each status with the words that stand for it, the one that weighs most first."""
STATUS_CHARS = 60
CONFIDENCE = {"superseded": 0.2, "deprecated": 0.2, "rejected": 0.2, "proposed": 0.6, "draft": 0.6}
"""Below 0.5, what `kb_search` asks for where nobody says otherwise, stands what no longer holds."""


@dataclass
class DecisionRecord:
    """What one record says."""

    number: str
    title: str
    labels: dict[str, str] = field(default_factory=dict)
    """Status, date and deciders, wherever they stand."""
    context: str = ""
    decision: str = ""
    decision_line: int = 1
    consequences: str = ""

    @property
    def status(self) -> str:
        """A known status, the one that weighs most, or what the record has; `accepted` where it has none."""
        said = words_of(self.labels.get("status", "")).casefold()
        known = (status for status, words in STATUSES.items() if any(word in said for word in words))
        return next(known, said[:STATUS_CHARS] or "accepted")


def parse_adr(text: str, source_file: str) -> list[SourceEntry]:
    """Return the summary of a decision record, and its decision as a fact below it.

    What was superseded, deprecated or rejected keeps its words, with a confidence at which searches pass it over.

    Raises:
        Invalid: a part of it is longer than an entry may be.
    """
    outline = read_outline(text, source_file)
    record = _record(outline, PurePosixPath(source_file).stem)
    key = f"adr-{record.number.zfill(4)}" if record.number else f"adr-{slug(record.title) or 'untitled'}"
    name = f"ADR {int(record.number)}: {record.title}" if record.number else f"ADR: {record.title}"
    shared = {
        "roles": ["dev", "pm"],
        "source_file": source_file,
        "confidence": CONFIDENCE.get(record.status, 1.0),
        "metadata": _metadata(record),
    }
    summary = _summary(name, record)
    tags = list(dict.fromkeys(["adr", "decision", *infer_tags(summary + record.decision)]))
    entries = [make_entry(1, {**shared, "key": key, "content": summary, "entry_type": "summary", "tags": tags})]
    if record.decision:
        fields = {
            **shared,
            "key": f"{key}/decision",
            "content": f"{name}: {record.decision}",
            "tags": tags,
            "parent": key,
        }
        entries.append(make_entry(record.decision_line, fields))
    return entries


def _record(outline: Outline, stem: str) -> DecisionRecord:
    number, title = _number_and_title(outline.title, stem)
    record = DecisionRecord(number, title, {name: str(value) for name, value in outline.front_matter.items() if value})
    for section in outline.sections:
        _take_labels(record, section)
        _take_text(record, section)
    return record


def _number_and_title(heading: str, stem: str) -> tuple[str, str]:
    of_heading, of_file = NUMBERED.fullmatch(heading), NUMBERED.fullmatch(stem)
    number = of_file["number"] if of_file else of_heading["number"] if of_heading else ""
    title = of_heading["title"] if of_heading else heading
    return number, title or (of_file["title"] if of_file else stem).replace("-", " ")


def _take_labels(record: DecisionRecord, section: OutlineSection) -> None:
    """Take `Status: accepted`, on a line or in a bullet, and what stands below a heading of that name."""
    name, parted, value = section.title.casefold().partition(":")
    paragraphs = [line for block in section.blocks if block.type == "paragraph" for line in _lines_of(block)]
    lines = paragraphs + [text_of(item) for block in section.blocks if "list" in block.type for item in block.children]
    if name in {"status", "date", "deciders"} and (lines or parted):
        # A record that was superseded often says so in a line of its own below “Accepted”.
        record.labels[name] = one_line(" ".join([value, *lines]))
    for line in lines if section.level <= 1 else []:
        if found := LABELLED.fullmatch(words_of(line)):
            record.labels.setdefault(found["name"].casefold(), found["value"].strip())


def _lines_of(paragraph: SyntaxTreeNode) -> list[str]:
    """Return the lines of a paragraph; with a label in front each is a statement, else they are one."""
    lines = paragraph.children[0].content.split("\n") if paragraph.children else []
    return (
        lines if len(lines) > 1 and all(LABELLED.fullmatch(words_of(line)) for line in lines) else [text_of(paragraph)]
    )


def _take_text(record: DecisionRecord, section: OutlineSection) -> None:
    name, text = section.title.casefold(), "\n\n".join(one for block in section.blocks if (one := text_of(block)))
    # Below “Decision Outcome”, MADR has consequences and confirmation: parts of the decision by place, not by name.
    if "consequence" in name:
        record.consequences += text
    elif name.startswith("context"):
        record.context += text
    elif name in {"decision", "decision outcome", "decided"}:
        record.decision += text
        record.decision_line = section.line


def _summary(name: str, record: DecisionRecord) -> str:
    dated = f", {record.labels['date']}" if "date" in record.labels else ""
    parts = [
        f"{name} ({record.status}{dated})",
        record.context,
        record.decision and f"Decision: {record.decision}",
        record.consequences and f"Consequences: {record.consequences}",
    ]
    return "\n\n".join(part for part in parts if part)


def _metadata(record: DecisionRecord) -> dict[str, Any]:
    status_text = words_of(record.labels.get("status", ""))
    successor = re.search(r"supersed\w*\s+by\s+(?P<what>.+)", status_text, re.IGNORECASE)
    return {
        "status": record.status,
        **({"superseded_by": successor["what"].rstrip(" .")} if successor else {}),
        **{name: value for name, value in record.labels.items() if name in {"date", "deciders", "decision-makers"}},
    }

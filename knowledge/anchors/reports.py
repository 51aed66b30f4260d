"""A verification in words: for a terminal, for the annotations of GitHub, for a summary in markdown, for programs."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from bigmind.text.hygiene import one_line, quote, show_hidden

from .judging import AnchorFinding, AnchorVerdict
from .verifying import EntryResult, Verification

TITLES = {
    AnchorVerdict.FALSE: "becomes false",
    AnchorVerdict.DOUBTFUL: "may become false",
    AnchorVerdict.MOVED: "holds, at another place",
    AnchorVerdict.UNKNOWN: "cites what was not there before",
}
SUMMARY_CHARS = 60_000
"""GitHub shows a summary of up to 65,536 characters as a comment."""


def as_text(done: Verification) -> str:
    """Return it for a terminal."""
    lines = []
    for result in done.results:
        for finding in _worth_telling(result):
            where = f"{finding.path}:{finding.line}" if finding.line else finding.path or finding.anchor.path
            lines.append(_show(f"{where}: {_title(result, finding)}: {finding.reason}"))
        lines += [f"    {line}" for line in difference(result)]
    return "\n".join([*lines, counts(done)])


def as_annotations(done: Verification) -> str:
    """Return it as GitHub reads it from the log of a job, which then shows it in the changed files."""
    lines = []
    for result in done.results:
        for finding in _worth_telling(result):
            level = "warning" if finding.is_affected else "notice"
            place = {"file": finding.path or finding.anchor.path, "line": str(finding.line or 1)}
            named = {**place, "title": _title(result, finding)}
            properties = ",".join(f"{name}={_property(value)}" for name, value in named.items())
            link = f" {result.entry.url}" if result.entry.url else ""
            lines.append(f"::{level} {properties}::{_message(f'{finding.reason} {_name_entry(result)}{link}')}")
    return "\n".join([*lines, counts(done)])


def as_markdown(done: Verification) -> str:
    """Return it as a summary of a pull request."""
    lines = [f"### Knowledge and this change: {counts(done)}", ""]
    for result in done.results:
        if not list(_worth_telling(result)):
            continue
        handle = _plain(result.entry.handle)
        name = f"[{handle}]({result.entry.url})" if result.entry.url else handle
        lines.append(f"**{name}** {_plain(result.entry.title)}: **{TITLES[result.verdict]}**")
        lines += [
            "",
            *(f"- {_plain(found.reason)} (`{_code(str(found.anchor))}`)" for found in _worth_telling(result)),
            "",
        ]
        if edited := difference(result):
            lines += [
                "Suggested edit of the entry:",
                "",
                "````diff",
                *(_escape_fence(line) for line in edited),
                "````",
                "",
            ]
    text = "\n".join(lines)
    return text if len(text) <= SUMMARY_CHARS else f"{text[:SUMMARY_CHARS]}\n\n… and more.\n"


def as_document(done: Verification) -> dict[str, Any]:
    """Return it for programs."""
    return {
        "repository": done.repository,
        "base": done.base,
        "head": done.head,
        "counts": {verdict.value: len(done.of(verdict)) for verdict in AnchorVerdict},
        "entries": [_row(result, done.head) for result in done.results],
    }


def counts(done: Verification) -> str:
    """Return how many entries are affected, in words."""
    numbers = [(AnchorVerdict.FALSE, "false"), (AnchorVerdict.DOUBTFUL, "doubtful"), (AnchorVerdict.MOVED, "moved")]
    counts_in_words = [f"{len(done.of(verdict))} {word}" for verdict, word in numbers]
    return f"{', '.join(counts_in_words)}, of {len(done.results)} entries that cite this repository"


def difference(result: EntryResult) -> list[str]:
    """Return the lines of the suggested edit; none if there is none."""
    before = f"{result.entry.title}\n\n{result.entry.content}".splitlines()
    after = f"{result.edited_title}\n\n{result.edited_content}".splitlines()
    lines = unified_diff(before, after, n=1, lineterm="")
    return [show_hidden(line) for line in lines if not line.startswith(("---", "+++"))]


def _row(result: EntryResult, head: str) -> dict[str, Any]:
    return {
        "handle": result.entry.handle,
        "title": result.entry.title,
        "url": result.entry.url,
        "verdict": result.verdict,
        "reason": result.reason,
        "anchors": [
            {
                "anchor": str(found.anchor),
                "verdict": found.verdict,
                "reason": found.reason,
                "path": found.path,
                "line": found.line,
                "moved_to": str(found.moved_to.at(head)) if found.moved_to else "",
            }
            for found in result.findings
        ],
        "suggested": {"title": result.edited_title, "content": result.edited_content} if result.offers_edit else None,
    }


def _worth_telling(result: EntryResult) -> Iterator[AnchorFinding]:
    return (finding for finding in result.findings if finding.verdict is not AnchorVerdict.HOLDS)


def _title(result: EntryResult, finding: AnchorFinding) -> str:
    return f"{result.entry.handle} {TITLES[finding.verdict]}"


def _name_entry(result: EntryResult) -> str:
    return f"{result.entry.handle}: {quote(result.entry.title)}"


def _show(text: str) -> str:
    """Return a text as one line. Names of files and values of code come from the author of the change."""
    return one_line(show_hidden(text))


def _message(text: str) -> str:
    # The escapes of GitHub's workflow commands: after a line break, a text of the change could give a command itself.
    return _show(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """Return a text as one line of markdown that neither links, mentions people nor holds HTML."""
    line = _show(text).replace("\\", "\\\\")
    for sign in "[]<>*_#|":
        line = line.replace(sign, f"\\{sign}")
    return line.replace("@", "@\N{ZERO WIDTH NON-JOINER}")


def _code(text: str) -> str:
    return _show(text).replace("`", "'")


def _escape_fence(line: str) -> str:
    return line.replace("````", "'''")

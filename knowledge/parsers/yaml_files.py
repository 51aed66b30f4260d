"""The YAML between a source and the knowledge base: written by parsers, edited by people, read by the import."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from bigmind.core.argument_checks import refusal
from bigmind.core.errors import Invalid
from bigmind.text.hygiene import echo, one_line, show_hidden
from knowledge.parsers.entries import Changes, SourceEntry, changes, rewordings
from knowledge.parsers.reading import decode_text, read_text, replace_text
from knowledge.parsers.yaml_nodes import INTEGER, NUMBER, WORDS, YamlNode, read_yaml

ENTRIES = 10_000
PROBLEMS = 20
GENERATIONS = 64
LONG = 90
Dumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
HEADER = """\
# Entries for the knowledge base, made from {source}.
# Edit what you like: an entry that was edited is kept when the source is parsed again.
# To leave one out for good, delete it and put its key into `left_out`. Leave `key` and `origin` as they are.
"""


@dataclass(frozen=True, slots=True)
class EntryFile:
    """What a YAML file of entries holds."""

    entries: tuple[SourceEntry, ...]
    source: str = ""
    kind: str = ""
    left_out: tuple[str, ...] = ()
    """Keys of entries that a person does not want, whatever the source says."""
    first_commit: str = ""
    """The first commit of the repository that the source is in."""


@dataclass(frozen=True, slots=True)
class ReadableEntries:
    """The entries of a file that can be accepted, and what is wrong with the others."""

    file: EntryFile
    refused: tuple[str, ...] = ()
    """A sentence for each thing that is wrong, with file, line and number of the entry."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A YAML file after its source was parsed again."""

    file: EntryFile
    changes: Changes
    kept: tuple[str, ...] = field(default=())
    """Keys whose source changed although a person had edited them: the edit was kept, and someone should look."""


class _EntryRow(NamedTuple):
    """An entry that could be read, and where it stands."""

    number: int
    line: int
    entry: SourceEntry


class _Inline(list[Any]):
    """A list that is written in one line."""


class _EntryDumper(Dumper):  # type: ignore[misc]  # C or Python, as the machine has it
    """Writes texts as people like to edit them."""


def _represent_text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    if re.search("[\x85\u2028\u2029\ufeff]", text):  # YAML counts most of these as line breaks, and would change them.
        return '"'
    if len(text) <= LONG and "\n" not in text:
        return None
    # A block that begins with white space needs an indentation hint, and ends of lines lose what nobody sees.
    return '"' if text[0].isspace() or re.search(r"[ \t]$|\n\n\Z", text, re.MULTILINE) else "|"


_EntryDumper.add_representer(str, _represent_text)
_EntryDumper.add_representer(
    _Inline, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
)
# The reader takes these for numbers, the YAML 1.1 of the writer does not, and would leave them without quotes.
_EntryDumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(f"^(?:{INTEGER.pattern})$"), None)
_EntryDumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(f"^(?:{NUMBER.pattern})$"), None)
_EntryDumper.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(f"^(?:{'|'.join(map(re.escape, WORDS))})$", re.IGNORECASE), None
)


def write_entries(file: EntryFile) -> str:
    """Return the YAML text of some entries: stable in order, long texts as blocks, with where they came from on top."""
    head = HEADER.format(source=one_line(show_hidden(file.source)) or "several sources")
    top = {
        "source": file.source,
        "first_commit": file.first_commit,
        "kind": file.kind,
        "left_out": _Inline(file.left_out),
    }
    stated = {name: value for name, value in top.items() if value}
    # An empty line before each entry, which the dumper has no way to write.
    entries = "\n".join(_dump([_fields(entry)]) for entry in file.entries)
    return head + (_dump(stated) if stated else "") + ("entries:\n" + entries if entries else "entries: []\n")


def _dump(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_EntryDumper, sort_keys=False, allow_unicode=True, width=10_000)
    return text


def _fields(entry: SourceEntry) -> dict[str, Any]:
    fields = entry.model_dump(mode="json", exclude_defaults=True)
    fields = {"key": entry.key, "entry_type": entry.entry_type, **fields, "roles": entry.roles}
    order = [name for name in SourceEntry.model_fields if name in fields]
    return {name: _Inline(fields[name]) if name in {"roles", "tags"} else fields[name] for name in order}


def read_entries(path: Path) -> EntryFile:
    """Read a YAML file of entries.

    Raises:
        Invalid: it cannot be read, or an entry in it cannot be accepted; with file, line and number of the entry.
    """
    return parse_entries(read_text(path), path.name)


def read_what_can_be(path: Path) -> ReadableEntries:
    """Read a YAML file of entries, leaving out those that cannot be accepted: one bad row does not stop ten thousand.

    Raises:
        Invalid: the file as a whole cannot be read.
    """
    file, problems = _read(read_text(path), path.name)
    return ReadableEntries(file, tuple(_sentence(problem, path.name) for problem in problems))


def write_entry_file(path: Path, file: EntryFile) -> None:
    """Write a YAML file of entries, replacing the one that is there in one step."""
    replace_text(path, write_entries(file))


def parse_entries(text: str, name: str) -> EntryFile:
    """Read the entries in a YAML text: a list of them, or a mapping with `entries`.

    Raises:
        Invalid: as `read_entries`.
    """
    file, problems = _read(text, name)
    if problems:
        raise _refusal(problems, name)
    return file


def _read(text: str, name: str) -> tuple[EntryFile, list[dict[str, Any]]]:
    # A text from an upload has the same limits as a file.
    top = read_yaml(decode_text(text.encode("utf-8", "surrogatepass"), name), name)
    if top is None:
        return EntryFile(()), []
    listed = top.members.get("entries") if isinstance(top.value, dict) else top
    if listed is None or not isinstance(listed.value, list):
        raise Invalid(f"{name}, line {(listed or top).line}: has no list of entries.", hint="See docs/importing.md.")
    if len(listed.value) > ENTRIES:
        raise Invalid(f"{name}: has {len(listed.value):,} entries; the limit is {ENTRIES:,}.", hint="Split the file.")
    entries, problems = _check(listed.value)
    left_out = top.members["left_out"].plain() if "left_out" in top.members else []
    keys = tuple(map(str, left_out)) if isinstance(left_out, list) else ()
    file = EntryFile(entries, top.text("source"), top.text("kind"), keys, top.text("first_commit"))
    return file, problems


def _check(nodes: Sequence[YamlNode]) -> tuple[tuple[SourceEntry, ...], list[dict[str, Any]]]:
    rows: list[_EntryRow] = []
    problems: list[dict[str, Any]] = []
    refused: set[str] = set()
    for number, node in enumerate(nodes, 1):
        try:
            rows.append(_EntryRow(number, node.line, SourceEntry.model_validate(node.plain())))
        except ValidationError as error:
            problems += _problems(error, node, number)
            refused |= {str(node.members["key"].value)} if "key" in node.members else set()
    misplaced = _find_misplaced(rows, refused)
    lost = {problem["entry"] for problem in misplaced}
    return tuple(row.entry for row in rows if row.number not in lost), problems + misplaced


def _problems(error: ValidationError, node: YamlNode, number: int) -> list[dict[str, Any]]:
    found = refusal(error, SourceEntry).problems
    if not isinstance(node.value, dict):
        found = [{"field": "entry", "message": "must be a mapping with at least `content`"}]
    # The line of the field itself, where it has one: an entry can be a page long.
    lines = [node.members.get(str(problem["field"]).split(".")[0], node).line for problem in found]
    return [{**problem, "entry": number, "line": line} for problem, line in zip(found, lines, strict=True)]


def _find_misplaced(rows: Sequence[_EntryRow], refused: Collection[str]) -> list[dict[str, Any]]:
    """Find keys that stand twice, and parents that are not there or lead in a circle."""
    parents = {row.entry.key: row.entry.parent for row in rows}
    seen: set[str] = set()
    problems = []
    for number, line, entry in rows:
        at = {"entry": number, "line": line}
        if entry.key in seen:
            problems.append({"field": "key", "message": f"{echo(entry.key)} stands twice", **at})
        # A parent that was refused itself is said once, there.
        if entry.parent and entry.parent not in parents and entry.parent not in refused:
            problems.append({"field": "parent", "message": f"{echo(entry.parent)} is no key in this file", **at})
        elif fault := _fault_of_ancestors(entry.key, parents):
            problems.append({"field": "parent", "message": fault, **at})
        seen.add(entry.key)
    return problems


def _fault_of_ancestors(key: str, parents: dict[str, str]) -> str:
    above, steps = parents.get(key, ""), 0
    while above and above != key and steps < GENERATIONS:  # A circle further up is reported where it is.
        above, steps = parents.get(above, ""), steps + 1
    if above == key:
        return "leads back to the entry itself"
    return f"has more than {GENERATIONS} parents above it" if above else ""


def _refusal(problems: list[dict[str, Any]], name: str) -> Invalid:
    more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
    sentence = f"{_sentence(problems[0], name)}{more}"
    return Invalid(sentence, problems=[{**problem, "file": name} for problem in problems[:PROBLEMS]])


def _sentence(problem: dict[str, Any], name: str) -> str:
    return f"{name}, line {problem['line']}, entry {problem['entry']}: {problem['field']} {problem['message']}."


def refresh(edited: EntryFile, parsed: Iterable[SourceEntry]) -> Refreshed:
    """Bring a file that people may have edited up to what its source says now.

    What nobody touched follows the source; what someone edited, or wrote without a source, stays.
    """
    fresh = {entry.key: entry for entry in parsed if entry.key not in edited.left_out}
    edits = {entry.key for entry in edited.entries if _is_edited(entry)}
    before = {entry.key: entry for entry in edited.entries}
    gone = [entry for entry in edited.entries if entry.origin and entry.key not in fresh]
    keys = {old: new for new, old in rewordings(gone, [fresh[key] for key in fresh if key not in before]).items()}
    before, edits = _rename(before, keys), {keys.get(key, key) for key in edits}
    merged = {key: _newer(before[key], entry) if key in edits else entry for key, entry in fresh.items()}
    own = {key: entry for key, entry in before.items() if key not in fresh and key in edits}
    entries = tuple(_without_lost_parents({**merged, **own}))
    kept = tuple(key for key in before if key in edits and before[key].origin and _is_moved(before[key], fresh))
    return Refreshed(replace(edited, entries=entries), changes(before.values(), entries), kept)


def _rename(entries: dict[str, SourceEntry], keys: dict[str, str]) -> dict[str, SourceEntry]:
    """Return entries under the keys that they have now, and below parents under theirs."""
    now = {key: (keys.get(key, key), keys.get(one.parent, one.parent)) for key, one in entries.items()}
    return {
        now[key][0]: one.model_copy(update=dict(zip(("key", "parent"), now[key], strict=True)))
        for key, one in entries.items()
    }


def _is_edited(entry: SourceEntry) -> bool:
    return entry.origin != entry.fingerprint()


def _is_moved(entry: SourceEntry, fresh: dict[str, SourceEntry]) -> bool:
    return entry.key not in fresh or fresh[entry.key].origin != entry.origin


def _newer(before: SourceEntry, parsed: SourceEntry) -> SourceEntry:
    # From here on the edit answers to this state of the source, so the same conflict is reported once.
    return before.model_copy(update={"origin": parsed.origin})


def _without_lost_parents(entries: dict[str, SourceEntry]) -> Iterable[SourceEntry]:
    for entry in entries.values():
        yield _orphan(entry) if entry.parent and entry.parent not in entries else entry


def _orphan(entry: SourceEntry) -> SourceEntry:
    orphan = entry.model_copy(update={"parent": ""})
    # Nobody edited it, so it must go on following its source.
    return orphan if _is_edited(entry) else orphan.model_copy(update={"origin": orphan.fingerprint()})

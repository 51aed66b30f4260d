"""Reading a folder in the layout of BEIR: `corpus.jsonl`, `queries.jsonl` and judgements under `qrels/`.

And a JSON file of conversations, each with the questions that its turns answer.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

OURS = Path(__file__).parent
"""What agents of a software company remember, and what they ask."""
CHATS = OURS / "chats"
"""Friends talking, turn by turn, and questions about what they said."""


@dataclass(frozen=True)
class Document:
    """Something to be found. In a corpus of ours `metadata` tells its kind, and the session of an exchange."""

    id: str
    title: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What is asked, the grade of each document that answers it, and its sort where the corpus names one.

    `asked_at` is when, for questions like “what did I eat yesterday?”.
    """

    id: str
    text: str
    answers: dict[str, int]
    sort: str = ""
    asked_at: datetime | None = None


@dataclass(frozen=True)
class Corpus:
    """Documents, and the questions that some of them answer."""

    name: str
    documents: list[Document]
    questions: list[Question]


def read_corpus(folder: Path) -> Corpus:
    """Read a folder. Questions without a judged answer are left out, as BEIR does."""
    answers = _answers(_judgements(folder))
    questions = [
        Question(row["_id"], row["text"], answers[row["_id"]], (row.get("metadata") or {}).get("sort", ""))
        for row in _rows(folder / "queries.jsonl")
        if row["_id"] in answers
    ]
    documents = [
        Document(row["_id"], row.get("title") or "", row["text"], row.get("metadata") or {})
        for row in _rows(folder / "corpus.jsonl")
        if row["text"].strip()
    ]
    return Corpus(folder.resolve().name, documents, questions)


def read_conversations(path: Path) -> list[Corpus]:
    """Read a file of conversations: each is a memory of its own, and docs/benchmarks.md has an example."""
    return [_conversation(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(one: dict[str, Any]) -> Corpus:
    documents = [
        Document(
            turn["id"],
            "",
            f"{turn['speaker']}: {turn['text']}",
            {"kind": "chunk", "role": "user", "project": "", "session": turn.get("session", "1")}
            | {name: turn[name] for name in ("date",) if name in turn},
        )
        for turn in one["turns"]
    ]
    questions = [
        Question(str(number), asked["text"], dict.fromkeys(asked["answers"], 1), asked.get("sort", ""))
        for number, asked in enumerate(one["questions"])
        if asked["answers"]
    ]
    return Corpus(one["name"], documents, questions)


def _judgements(folder: Path) -> Path:
    """The test split, or else the one there is."""
    test = folder / "qrels" / "test.tsv"
    found = [test] if test.exists() else sorted((folder / "qrels").glob("*.tsv"))
    if not found:
        raise FileNotFoundError(f"{folder} has no judgements: qrels/test.tsv is missing.")
    return found[0]


def _answers(path: Path) -> dict[str, dict[str, int]]:
    """The documents that answer a question, with their grades; those judged to be no answer are left out."""
    answers: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if int(row["score"]) > 0:
                answers.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return answers


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)

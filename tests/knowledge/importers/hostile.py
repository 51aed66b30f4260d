"""Files made to harm whoever imports them."""

import json
import os
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

from . import sources


def build(folder: Path) -> None:
    """Write every case, each a file or folder with its name."""
    for case in CASES:
        CASES[case](folder / case)


def _text(text: str | bytes) -> Any:
    return lambda path: path.write_bytes(text.encode() if isinstance(text, str) else text)


def _zip(*members: tuple[str, bytes], mode: int = 0) -> Any:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members:
                member = zipfile.ZipInfo(name)
                member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
                archive.writestr(member, content)

    return write


def _notes(**files: str) -> Any:
    def write(path: Path) -> None:
        path.mkdir()
        for name, text in files.items():
            (path / f"{name}.md").write_text(text)

    return write


def _linked(path: Path) -> None:
    """A folder whose only note of interest is a link to a file outside it."""
    outside = path.with_suffix(".secret")
    outside.write_text("---\npermalink: x\n---\n- [rule] The launch code is 0000\n")
    path.mkdir()
    (path / "mine.md").write_text("---\npermalink: y\n---\n- [rule] Only this\n")
    (path / "stolen.md").symlink_to(outside)
    os.mkfifo(path / "pipe.md")


def _database(script: str) -> Any:
    def write(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.executescript(script)
        connection.commit()
        connection.close()

    return write


def _broken(path: Path) -> None:
    sources.write_database(path)
    raw = bytearray(path.read_bytes())
    raw[4096:12_000] = b"\xff" * (12_000 - 4096)
    path.write_bytes(raw)


def _cycle(path: Path) -> None:
    told = sources.chatgpt()[:1]
    told[0]["mapping"]["root"]["parent"] = "m5"
    path.write_text(json.dumps(told))


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
VIEW = """
CREATE TABLE sessions (id TEXT, user_id TEXT, started_at TEXT);
CREATE TABLE facts (id INTEGER, user_id TEXT, category TEXT, fact TEXT);
CREATE VIEW hypotheses AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n;
CREATE VIEW global_knowledge AS SELECT load_extension('evil');
"""
BLOB = """
CREATE TABLE sessions (id TEXT, user_id TEXT, started_at TEXT);
CREATE TABLE facts (id INTEGER, user_id TEXT, category TEXT, fact TEXT);
INSERT INTO facts VALUES (1, 'u', 'identity', CAST(zeroblob(60000000) AS TEXT));
"""
# The column is added last: SQLite computes it for every row that is written to a table with it.
SLOW = """
CREATE TABLE sessions (id TEXT, user_id TEXT, started_at TEXT);
CREATE TABLE facts (id INTEGER, user_id TEXT, category TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) INSERT INTO facts (id) SELECT x FROM n;
ALTER TABLE facts ADD COLUMN fact TEXT GENERATED ALWAYS AS (printf('%.*c', 200000 + 0 * id, 'x')) VIRTUAL;
"""

CASES: dict[str, Any] = {
    "ratio.zip": _zip(("conversations.json", b"[" + b" " * 20_000_000 + b"]")),
    "total.zip": _zip(*((f"{n}/notes.md", os.urandom(8) * 120_000) for n in range(12))),
    "outside.zip": _zip(("../../conversations.json", b"[]")),
    "absolute.zip": _zip(("/etc/conversations.json", b"[]")),
    "drive.zip": _zip(("C:\\conversations.json", b"[]")),
    "link.zip": _zip(("conversations.json", b"/etc/passwd"), mode=0o120777),
    "torn.zip": _text(b"PK\x03\x04" + b"\0" * 500),
    "deep_list.json": _text('[{"memory": ' + "[" * 200_000),
    "deep_object.json": _text('{"results": ' + '{"a":' * 5_000 + "1" + "}" * 5_000 + "}"),
    "deep_lines.jsonl": _text('{"type":"entity","name":"x","observations":[]}\n' + "[" * 100_000 + "\n"),
    "one_word.json": _text('[{"memory": "' + "x" * 12_000_000 + '"}]'),
    "number.json": _text('[{"memory": "x", "created_at": ' + "9" * 10_000 + "}]"),
    "no_end.json": _text('[{"memory": "x"}' + ',{"memory": "y"}' * 300_000),
    "many.json": _text("[" + ",".join(['{"memory":"x"}'] * 200_000) + "]"),
    "latin.json": _text(b'[{"memory": "caf\xe9"}]'),
    "cycle.json": _cycle,
    "aliases": _notes(bomb=f"---\npermalink: x\n{BOMB}\n---\nText.\n", good="---\npermalink: g\n---\nGood.\n"),
    "tags": _notes(tag="---\npermalink: x\nevil: !!python/object/apply:os.system [id]\n---\nText.\n"),
    "links": _linked,
    "not.db": _text(b"SQLite format 3\0" + b"\xff" * 5_000),
    "broken.db": _broken,
    "view.db": _database(VIEW),
    "blob.db": _database(BLOB),
    "slow.db": _database(SLOW),
}

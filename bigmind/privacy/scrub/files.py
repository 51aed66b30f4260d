"""Finding and replacing a text in what BigMind keeps beside the database: files of its home, the cache, Redis."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from bigmind.environment import environment
from curation.decisions.neighbours import NEAR

from .matching import MOST, Needle, letters_of, may_stand_in, spans_in

FOLDERS = ("logs", "hooks", "queue", "run")
"""Folders of the home that hold what was written or is to be sent; the others are the database and programs."""
READ_BYTES = 8 * 1024 * 1024
OVERLAP_BYTES = 8 * MOST
FILLER = b"[removed]"
SQLITE = b"SQLite format 3\0"


def scrub_files(needles: Sequence[Needle], *, dry_run: bool) -> dict[str, int]:
    """Replace the text in the files of the home, by as many bytes; return how often it stands in each."""
    home, found = environment().home, dict[str, int]()
    for path in _files(home):
        with suppress(FileNotFoundError):  # A worker has taken it meanwhile.
            times = _scrub_file(path, needles, dry_run=dry_run)
            if times:
                found[str(path.relative_to(home))] = times
    return found


def scrub_redis(needles: Sequence[Needle], *, dry_run: bool) -> int:
    """Delete the keys and messages of Redis in which the text stands; return how many."""
    url = environment().redis_url.get_secret_value()
    if not url:
        return 0
    from redis import Redis  # Here, because few instances have one, and no start waits for it.

    found = 0
    with Redis.from_url(url) as client:
        for name in client.scan_iter(count=500):
            found += _scrub_key(client, name, needles, dry_run=dry_run)
    return found


def _files(home: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            # What SQLite keeps beside a database is written back and emptied with it.
            if path.is_file() and not path.is_symlink() and not path.name.endswith(("-wal", "-shm")):
                yield path


def _scrub_file(path: Path, needles: Sequence[Needle], *, dry_run: bool) -> int:
    with path.open("rb") as file:
        if file.read(len(SQLITE)) == SQLITE:
            return _scrub_cache(path, needles, dry_run=dry_run)
    spans = sorted(set(_spans_of(path, needles)))
    if spans and not dry_run:
        # In place and of the same length: another process may be appending to it.
        with path.open("r+b") as file:
            for start, end in spans:
                file.seek(start)
                file.write(FILLER.ljust(end - start, b"*")[: end - start])
    return len(spans)


def _spans_of(path: Path, needles: Sequence[Needle]) -> Iterator[tuple[int, int]]:
    """Yield the bytes from and to which the text stands. Parts overlap, so that none is cut in two."""
    with path.open("rb") as file:
        begin = 0
        while part := file.read(READ_BYTES):
            # Bytes that are no UTF-8, such as half a letter at the edge of a part, keep their places so.
            text = part.decode("utf-8", "surrogateescape")
            if may_stand_in(letters_of(text), needles):
                for start, end in spans_in(text, needles):
                    before = len(text[:start].encode("utf-8", "surrogateescape"))
                    yield begin + before, begin + before + len(text[start:end].encode("utf-8", "surrogateescape"))
            if len(part) < READ_BYTES:
                return
            begin += READ_BYTES - OVERLAP_BYTES
            file.seek(begin)


def _scrub_cache(path: Path, needles: Sequence[Needle], *, dry_run: bool) -> int:
    """Delete what the cache of this machine keeps with the text, and let SQLite write the file again without it."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as cache:
        rows = cache.execute("SELECT key, value FROM kept_since").fetchall()
        found = [key for key, value in rows if _stands_in((key, value), needles)]
        if not dry_run:
            # Vectors of proposals, of texts whose digest alone is kept with them.
            cache.execute(f"DELETE FROM kept_since WHERE key LIKE '%:{NEAR}%'")  # noqa: S608 - a fixed text
            cache.executemany("DELETE FROM kept_since WHERE key = ?", [(key,) for key in found])
            # Otherwise what was deleted stays in free pages of the file, and in its journal.
            cache.execute("VACUUM")
            cache.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(found)


def _scrub_key(client: Any, name: bytes, needles: Sequence[Needle], *, dry_run: bool) -> int:
    if f":{NEAR}".encode() in name and not dry_run:
        client.delete(name)
        return 0
    kind = client.type(name).decode()
    if kind == "list":
        found = [one for one in client.lrange(name, 0, -1) if _stands_in((one,), needles)]
        if not dry_run:
            for one in found:
                client.lrem(name, 0, one)
        return len(found)
    if kind == "hash":
        names = [one for one, value in client.hgetall(name).items() if _stands_in((one, value), needles)]
        if names and not dry_run:
            client.hdel(name, *names)
        return len(names)
    if kind in {"set", "zset"}:
        members = client.smembers(name) if kind == "set" else client.zrange(name, 0, -1)
        found = [one for one in members if _stands_in((one,), needles)]
        if found and not dry_run:
            (client.srem if kind == "set" else client.zrem)(name, *found)
        return len(found)
    # What `dump` returned would be compressed.
    value = client.get(name) if kind == "string" else client.xrange(name) if kind == "stream" else b""
    is_there = _stands_in((name, value), needles)
    if is_there and not dry_run:
        client.delete(name)
    return int(is_there)


def _stands_in(values: Sequence[Any], needles: Sequence[Needle]) -> bool:
    texts = (one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in values)
    return any(spans_in(text, needles) for text in texts)

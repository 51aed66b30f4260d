"""Object storage that speaks S3: copies, lists and fetches backups there, and deletes outdated ones.

Credentials come only from the environment variables that every S3 client reads. They appear in no message of ours: an
error says what failed, never what was sent.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from bigmind.core.errors import Invalid, NotFound
from bigmind.environment.storage import BUCKET_ADDRESS
from bigmind.privacy.scrub.notes import FILE as NOTES

from .making import time_of_backup
from .manifest import MANIFEST
from .retention import Retention

if TYPE_CHECKING:
    from obstore.store import S3Store

SCHEME = "s3://"
SPELLING = "Write s3://bucket/prefix; a bucket has 3 to 63 small letters, digits, dots and dashes, and no key."
PART_BYTES = 16 * 1024 * 1024
PARTS = 9_000
"""S3 accepts 10,000 parts per file: larger files are sent in larger parts."""
AT_ONCE = 4
PATIENCE, LONGEST = timedelta(seconds=10), timedelta(minutes=10)
TRIES = 3
REFUSALS: tuple[tuple[tuple[str, ...], type[Invalid] | type[NotFound], str, str], ...] = (
    (
        # Where no key is set, the library asks for the role of the machine, at 169.254.169.254.
        ("Missing AccessKeyId", "Missing SecretAccessKey", "169.254."),
        Invalid,
        "no key for the storage is set.",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run on a machine that has a role there.",
    ),
    (
        ("403 Forbidden", "401 Unauthorized"),
        Invalid,
        "the storage does not let us in.",
        "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may list, read, write and delete there.",
    ),
    (
        ("404 Not Found", "not found"),
        NotFound,
        "there is no such bucket, or what was asked for is not in it.",
        "Check its name, AWS_REGION and AWS_ENDPOINT_URL; BigMind makes no buckets.",
    ),
)
"""The error codes of the storage, and our messages for them."""


@dataclass(frozen=True)
class StoredBackup:
    """One backup in a bucket: its name and size."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Bucket:
    """A place in object storage, such as `s3://bucket/prefix`."""

    name: str
    prefix: str = ""

    @classmethod
    def at(cls, address: str) -> "Bucket":
        """Return the place at an address.

        Raises:
            Invalid: it names none.
        """
        found = BUCKET_ADDRESS.fullmatch(address)
        if found is None:
            raise Invalid(f"{address.rpartition('@')[2][:100]} is no address of a bucket.", hint=SPELLING)
        return cls(found[1], (found[2] or "").strip("/"))

    def __str__(self) -> str:
        return f"{SCHEME}{self.name}/{self.prefix}".rstrip("/")

    def backups(self) -> list[StoredBackup]:
        """Return the complete backups there, the newest first. Other objects are ignored.

        Raises:
            Invalid: the storage does not answer, or does not let us in.
            NotFound: there is no such bucket.
        """
        found = self._files()
        whole = sorted((name for name, files in found.items() if MANIFEST in files), reverse=True)
        return [StoredBackup(name, sum(found[name].values())) for name in whole]

    def upload(self, folder: Path) -> None:
        """Copy a backup there. Its manifest comes last: without one, it is not a backup yet.

        Raises:
            Invalid: the storage does not answer, or does not let us in.
            NotFound: there is no such bucket.
        """
        for file in sorted(folder.iterdir(), key=lambda file: (file.name == MANIFEST, file.name)):
            self._put(file, f"{folder.name}/{file.name}")

    def upload_notes(self, file: Path) -> None:
        """Keep the notes of removed texts beside the backups: a restore from there removes these texts again."""
        if file.is_file():
            self._put(file, NOTES)

    def download(self, name: str, into: Path) -> Path:
        """Fetch a backup into a folder, with the newest notes of removed texts; return the backup's own folder.

        Raises:
            NotFound: there is no such backup.
            Invalid: the storage does not answer, or does not let us in.
        """
        files = self._files().get(name, {})
        if MANIFEST not in files:
            raise NotFound(f"There is no backup {name[:60]} in {self}.", hint="`bigmind backup --list` lists them.")
        folder = into / name
        folder.mkdir(mode=0o700, parents=True)
        for file in files:
            self._get(f"{name}/{file}", folder / file)
        with suppress(NotFound):
            self._get(NOTES, folder / NOTES)
        return folder

    def remove_outdated(self, keep: Retention) -> list[str]:
        """Remove the backups that a retention does not keep; return their names.

        Each manifest goes first: without it, the rest is not a backup.
        """
        import obstore

        found, gone = self._files(), keep.find_outdated(self.backups(), lambda one: time_of_backup(one.name))
        with self._refusals():
            for backup in gone:
                obstore.delete(self._store, f"{backup.name}/{MANIFEST}")
                obstore.delete(
                    self._store, [f"{backup.name}/{file}" for file in found[backup.name] if file != MANIFEST]
                )
        return [backup.name for backup in gone]

    @cached_property
    def _store(self) -> "S3Store":
        from obstore.store import S3Store

        return S3Store(
            self.name,
            prefix=self.prefix or None,
            # Without TLS only if the address says so, such as within a cluster.
            client_options={
                "connect_timeout": PATIENCE,
                "timeout": LONGEST,
                "allow_http": os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"),
            },
            retry_config={"max_retries": TRIES, "retry_timeout": LONGEST},
        )

    def _files(self) -> dict[str, dict[str, int]]:
        """The files of each backup with their sizes, incomplete backups included."""
        import obstore

        found: dict[str, dict[str, int]] = defaultdict(dict)
        with self._refusals():
            for meta in chain.from_iterable(obstore.list(self._store)):
                name, _, file = meta["path"].partition("/")
                if _is_name(name) and file and "/" not in file:
                    found[name][file] = meta["size"]
        return found

    def _put(self, file: Path, path: str) -> None:
        import obstore

        part = max(PART_BYTES, file.stat().st_size // PARTS)
        with self._refusals():
            obstore.put(self._store, path, file, chunk_size=part, max_concurrency=AT_ONCE)

    def _get(self, path: str, file: Path) -> None:
        import obstore

        with self._refusals():
            found = obstore.get(self._store, path)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
                for chunk in found.stream(min_chunk_size=PART_BYTES):
                    written.write(chunk)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Describe the error in our words. The storage's own message may repeat the name of a key."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise self._refusal(str(error)) from None
        except OSError as error:
            raise Invalid(f"{self}: {error.strerror}.", hint="See to the disk, then try again.") from error

    def _refusal(self, answer: str) -> Invalid | NotFound:
        for signs, kind, words, hint in REFUSALS:
            if any(sign in answer for sign in signs):
                return kind(f"{self}: {words}", hint=hint)
        hint = "Check AWS_ENDPOINT_URL, AWS_REGION, and whether a firewall is between."
        return Invalid(f"{self}: the storage cannot be reached, or failed.", hint=hint)


def _is_name(name: str) -> bool:
    try:
        time_of_backup(name)
    except ValueError:
        return False
    return True

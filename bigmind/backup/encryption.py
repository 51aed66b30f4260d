"""Encryption of backups with age: anyone can encrypt to a recipient, and only its identity can decrypt.

The format is that of the program `age` (https://age-encryption.org/v1), which opens these files as well. Everything is
streamed in chunks of 64 KiB, each of them authenticated: a file that was changed or cut off is not opened to its end.
"""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from subprocess import Popen
from threading import Thread
from typing import IO, Any

from django.conf import settings

from bigmind.core.errors import Invalid

ENDING = ".age"
HEADER = b"age-encryption.org/v1\n"
IDENTITY_BYTES = 64 * 1024
_SECRET = "AGE-SECRET-KEY-1"  # noqa: S105 - how every identity begins
_MAKE_ONE = "`age-keygen -o identity.txt` makes one, and prints its recipient."


class CannotDecrypt(Invalid):
    """An encrypted file cannot be decrypted: it was changed, truncated, or encrypted to someone else."""


def read_recipients(texts: Iterable[str]) -> list[Any]:
    """Parse recipients from texts such as `age1…`.

    Raises:
        Invalid: one is none.
    """
    from pyrage import RecipientError, x25519

    found = []
    for text in texts:
        try:
            found.append(x25519.Recipient.from_str(text))
        except RecipientError:
            shown = "a secret identity, which belongs to whoever restores" if text.startswith(_SECRET) else text[:80]
            hint = f"A recipient begins with age1 and has 62 characters. {_MAKE_ONE}"
            raise Invalid(f"No recipient of age: {shown}.", hint=hint) from None
    return found


def identity_file(given: Path | None = None) -> Path | None:
    """Return the given file, else the one from the settings, if any."""
    kept = settings.BACKUP_IDENTITY_FILE
    return given or (Path(kept) if kept else None)


def read_identities(file: Path) -> list[Any]:
    """Return the identities in a file that age-keygen wrote.

    Raises:
        Invalid: it cannot be read, or holds none.
    """
    from pyrage import IdentityError, x25519

    try:
        with file.open("rb") as opened:
            lines = opened.read(IDENTITY_BYTES).decode(errors="replace").split("\n")
    except OSError as error:
        raise Invalid(f"The identity file {file}: {error.strerror}.", hint=_MAKE_ONE) from None
    try:
        found = [x25519.Identity.from_str(line.strip()) for line in lines if line.strip().startswith(_SECRET)]
    except IdentityError:
        raise Invalid(f"The identity in {file} is damaged.", hint="Take the copy that you keep elsewhere.") from None
    if not found:
        hint = f"It is a text with a line {_SECRET}…; one with a passphrase is opened first: `age -d`. {_MAKE_ONE}"
        raise Invalid(f"{file} holds no identity of age.", hint=hint)
    return found


def encrypt(plain: IO[bytes], into: IO[bytes], recipients: Iterable[str]) -> None:
    """Encrypt a stream to recipients, any of whom can decrypt it."""
    import pyrage

    pyrage.encrypt_io(plain, into, read_recipients(recipients))


def decrypt(file: Path, into: IO[bytes], identities: list[Any]) -> None:
    """Decrypt a file into a stream.

    Raises:
        CannotDecrypt: it cannot be decrypted, or only in part.
        BrokenPipeError: the reader has gone.
    """
    import pyrage

    with file.open("rb") as encrypted:
        try:
            pyrage.decrypt_io(encrypted, into, identities)
        except pyrage.DecryptError as error:
            hint = "Give the identity that belongs to one of its recipients; the manifest names them."
            raise CannotDecrypt(f"{file.name} cannot be opened: {str(error)[:100].lower()}.", hint=hint) from None
        except OSError as error:
            # Errors of the system have a number; that a chunk is not authentic, pyrage says without one.
            if isinstance(error, BrokenPipeError) or error.errno:
                raise
            hint = "The file was changed or cut off: take another backup."
            raise CannotDecrypt(f"{file.name} cannot be opened to its end.", hint=hint) from None


def decrypt_small(file: Path, identities: list[Any]) -> bytes:
    """Return the content of a small file."""
    opened = BytesIO()
    decrypt(file, opened, identities)
    return opened.getvalue()


class Feed:
    """Decrypts a file into the standard input of a program, in a thread of its own.

    The caller reads meanwhile what the program writes: one thread for both would hang as soon as both pipes are full.
    """

    def __init__(self, file: Path, identities: list[Any], program: "Popen[bytes]") -> None:
        assert program.stdin is not None
        self.error: Exception | None = None
        self._work = file, program.stdin, identities
        self._thread = Thread(target=self._write, name="decrypt", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        file, into, identities = self._work
        try:
            with into:
                decrypt(file, into, identities)
        except BrokenPipeError:
            pass  # The program has ended, and says why.
        except Exception as error:  # noqa: BLE001 # The waiting thread raises it.
            self.error = error

    def wait(self) -> None:
        """Wait until the whole file was read.

        Raises:
            CannotDecrypt: it could not be.
        """
        self._thread.join()
        if self.error:
            raise self.error


def is_encrypted(file: Path) -> bool:
    """Whether a file begins with the header of age."""
    with file.open("rb") as opened:
        return opened.read(len(HEADER)) == HEADER

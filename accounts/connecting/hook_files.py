"""The hook program on this machine: its files below `BIGMIND_HOME/hooks`, and its settings for each client."""

import json
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from bigmind import triggers
from bigmind.privacy import screening
from bigmind.text import key_text

from . import act_program, act_stub, hook_program
from .files import PRIVATE, find_file, remove_folders, replace_file
from .hooks import ACT_FILE, KINDS, PROGRAM_FILE, HookProgram
from .machines import Machine

SCREENING = "bigmind_screening"
SCREENING_FILES = ("__init__", "private_marks", "redaction", "labelled_secrets", "logins", "secret_formats", "values")
TRIGGERS = "bigmind_triggers"
TRIGGER_FILES = ("__init__", "acts", "patterns", "shell")
FOR_ITS_OWNER = 0o700


@dataclass(frozen=True)
class HookConfig:
    """The hook program's settings for one client.

    Attributes:
        url: The address of BigMind.
        key: The key it sends; empty where the variable BIGMIND_API_KEY has it.
        events: The kinds of events that are sent.
        never: Folders from which nothing is sent.
        places: Where hooks are installed that read this: `user`, or the folder of a project.
        python: The Python that runs the program. It stays the same as long as it is there, for a client that asks for
            trust asks again when its command changes.
    """

    client: str
    url: str
    key: str = ""
    events: list[str] = field(default_factory=lambda: list(KINDS))
    never: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    python: str = ""
    version: str = ""


@dataclass(frozen=True)
class LastFailure:
    """The last event that the hook program could not deliver.

    Attributes:
        late: How many answers came too late so far.
        away: How many events found BigMind away, or were refused.
        sent: What of both BigMind knows already.
    """

    at: str
    event: str
    reason: str
    late: int = 0
    away: int = 0
    sent: list[int] = field(default_factory=list)


class HookFolder:
    """`BIGMIND_HOME/hooks`: the program, a file for each client, and what waits to be sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def program(self, client: str, machine: Machine) -> HookProgram:
        """Return how a client runs the program."""
        known = self.config_of(client)
        python = known.python if known and Path(known.python).is_file() else _base_python()
        return HookProgram(python, str(self.folder / PROGRAM_FILE), machine.system)

    def config_of(self, client: str) -> HookConfig | None:
        """Return the program's settings for a client, if any."""
        found = find_file(self._config(client))
        try:
            told = json.loads(found.text) if found.content else None
            return HookConfig(**told) if told else None
        except (ValueError, TypeError):  # a malformed file is written again
            return None

    def write(self, config: HookConfig) -> None:
        """Write the program and its settings for a client. Both exist before a client could run it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=FOR_ITS_OWNER)
        write_program(self.folder)
        content = json.dumps(asdict(config), indent=1, ensure_ascii=False).encode()
        replace_file(find_file(self._config(config.client)), content, mode=PRIVATE)

    def renew(self) -> None:
        """Write the program of this version in the place of an older one, where clients run one.

        Raises:
            Forbidden: it may not be written.
        """
        if (self.folder / PROGRAM_FILE).is_file():
            write_program(self.folder)

    def is_current(self) -> bool:
        """Whether the program that clients run is the one of this version."""
        return all(find_file(self.folder / name).content == content for name, content in _contents().items())

    def forget(self, client: str, place: str) -> None:
        """Remove the settings for a client in one place; with the last one, remove the program and waiting events."""
        known = self.config_of(client)
        left = [one for one in known.places if one != place] if known else []
        if known and left:
            self.write(replace(known, places=left))
            return
        for path in (self._config(client), self._failure(client), self.folder / f"{client}.excluded.json"):
            path.unlink(missing_ok=True)
        for name in ("spool", "state"):
            shutil.rmtree(self.folder / name / client, ignore_errors=True)
        for path in (*self.folder.glob(f"acts/{client}.*"), *self.folder.glob(f"triggers/{client}.*")):
            path.unlink(missing_ok=True)
        for name in ("spool", "state", "acts", "triggers"):
            remove_folders([self.folder / name])
        if not any(self.folder.glob("*.json")):
            shutil.rmtree(self.folder, ignore_errors=True)

    def waiting(self, client: str) -> tuple[int, int]:
        """Return how many events of a client wait for BigMind, and their bytes."""
        files = list((self.folder / "spool" / client).glob("*.json"))
        return len(files), sum(path.stat().st_size for path in files)

    def last_failure(self, client: str) -> LastFailure | None:
        """Return the last event of a client that was not delivered."""
        try:
            return LastFailure(**json.loads(self._failure(client).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def _config(self, client: str) -> Path:
        return self.folder / f"{client}.json"

    def _failure(self, client: str) -> Path:
        return self.folder / f"{client}.failure.json"


def write_program(folder: Path) -> None:
    """Write the hook program and the modules that screen texts into a folder, in the place of those of before."""
    contents = _contents()
    for name, content in contents.items():
        found = find_file(folder / name)
        if found.content != content:
            replace_file(found, content, mode=0o644)
    for package in (SCREENING, TRIGGERS):
        _remove_former(folder / package, {Path(name).stem for name in contents if name.startswith(f"{package}/")})


def _remove_former(package: Path, modules: set[str]) -> None:
    """Remove modules that a former version wrote into a package of BigMind's own, and what Python compiled of them.

    What is a link may be someone's, and what is no module of Python is not BigMind's. What stays does no harm.
    """
    if package.is_symlink():
        return
    for path in (*package.glob("*.py"), *package.glob("__pycache__/*.pyc")):
        if path.name.partition(".")[0] not in modules and path.is_file() and not path.is_symlink():
            with suppress(OSError):
                path.unlink()


def _contents() -> dict[str, bytes]:
    contents = {PROGRAM_FILE: Path(hook_program.__file__).read_bytes()}
    # A copy of the whole screening: a short list of patterns found four fifths of the secrets. Decision 31.
    package = Path(screening.__file__).parent
    contents |= {f"{SCREENING}/{name}.py": (package / f"{name}.py").read_bytes() for name in SCREENING_FILES}
    # They import nothing of BigMind but each other and this one.
    contents[f"{SCREENING}/key_text.py"] = Path(key_text.__file__).read_bytes()
    formats = contents[f"{SCREENING}/secret_formats.py"]
    contents[f"{SCREENING}/secret_formats.py"] = formats.replace(b"from bigmind.text.key_text", b"from .key_text")
    contents[ACT_FILE] = Path(act_stub.__file__).read_bytes()
    package = Path(triggers.__file__).parent
    contents |= {f"{TRIGGERS}/{name}.py": (package / f"{name}.py").read_bytes() for name in TRIGGER_FILES}
    program = Path(act_program.__file__).read_bytes()
    contents[f"{TRIGGERS}/program.py"] = program.replace(b"from bigmind.triggers.", b"from .")
    return contents


def _base_python() -> str:
    """Return the Python behind a virtual environment, which is not gone with it: the program needs no package."""
    base = str(getattr(sys, "_base_executable", "") or sys.executable)
    return base if Path(base).is_file() else sys.executable

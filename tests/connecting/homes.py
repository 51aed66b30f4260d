"""Homes of tests: a machine of each system, and what its programs have written there before BigMind came."""

import stat
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from accounts.connecting.changes import FileChange, carry_out, plan_connection, plan_disconnection
from accounts.connecting.edited_files import parts_of
from accounts.connecting.file_backups import ChangeRecords
from accounts.connecting.machines import Machine, System
from accounts.connecting.server_config import ServerConfig
from accounts.connecting.supported_clients import AgentProgram, program_called

KEY = f"bm_{'K' * 38}"
DOOR = ServerConfig("http://localhost:7700", KEY)
HERE = ServerConfig(
    "http://localhost:7700", KEY, (), ("/venv/python", "-m", "bigmind", "mcp"), (("BIGMIND_HOME", "/data"),)
)


class Home:
    """Somebody's home in a temporary folder, with everything that connecting needs to know of it."""

    def __init__(self, folder: Path, system: System = "linux", **variables: str) -> None:
        self.folder = folder / "home"
        self.folder.mkdir()
        self.machine = Machine(system, self.folder, variables)
        self.records = ChangeRecords(folder / "bigmind" / "connections")

    def write(self, place: str, text: str, *, mode: int = 0o644) -> Path:
        """Write a file as its program would have."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(mode)
        return path

    def read(self, place: str) -> str:
        """Read a file with the ends of its lines as they are."""
        return (self.folder / place).read_bytes().decode()

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Return every file below the home: what is in it, and who may read it."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found
        }

    def folders(self) -> set[str]:
        """Return every folder below the home."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_dir()}

    def plan(self, slug: str, *, door: ServerConfig = DOOR, project: Path | None = None) -> list[FileChange]:
        """Return what connecting would change."""
        return plan_connection(slug, parts_of(program(slug), door, self.machine, project), self.records)

    def connect(self, slug: str, *, door: ServerConfig = DOOR, project: Path | None = None) -> list[FileChange]:
        """Connect a program."""
        changes = self.plan(slug, door=door, project=project)
        carry_out(changes, self.records)
        return changes

    def disconnect(self, slug: str, *, project: Path | None = None) -> list[FileChange]:
        """Disconnect a program."""
        changes = plan_disconnection(slug, parts_of(program(slug), DOOR, self.machine, project), self.records)
        carry_out(changes, self.records)
        return changes


def program(slug: str) -> AgentProgram:
    """Return a program that there is."""
    found = program_called(slug)
    assert found is not None
    return found


def run(*arguments: str) -> tuple[str, str]:
    """Run a command; return what it printed, and what it remarked."""
    printed, remarked = StringIO(), StringIO()
    call_command(*arguments, stdout=printed, stderr=remarked)
    return printed.getvalue(), remarked.getvalue()

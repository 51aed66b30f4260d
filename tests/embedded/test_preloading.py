"""What `bigmind up` imports before it serves: a start takes as long as that does."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
USED_BY_FEW = ("bs4", "celery.bin.celery", "drf_spectacular.generators", "jwt", "openai", "redis", "tokenizers")
PRELOADS = f"""
import gc, json, sys
gc.disable()
import django
django.setup()
from bigmind.embedded.web import preload
preload()
from knowledge.shapes.facts import FactShape
from mcp.types import JSONRPCRequest
built = [model.__name__ for model in (FactShape, JSONRPCRequest) if model.__pydantic_complete__]
JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
imported = sorted({{*{USED_BY_FEW}}} & {{*sys.modules}})
print(json.dumps([imported, built, gc.isenabled(), gc.get_freeze_count() > 100_000]))
"""


def test_a_start_imports_nothing_that_few_use_builds_no_model_and_then_looks_for_garbage_again(tmp_path: Path) -> None:
    own = {**os.environ, "DJANGO_SETTINGS_MODULE": "bigmind.settings", "BIGMIND_HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", PRELOADS], cwd=ROOT, env=own, capture_output=True, text=True)

    assert json.loads(said.stdout.splitlines()[-1]) == [[], [], True, True], said.stderr

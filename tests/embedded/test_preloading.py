"""What `bigmind up` loads before it serves: a start takes as long as that does, and first calls need not do it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bigmind.embedded.processes import IS_FORKED

ROOT = Path(__file__).parents[2]
USED_BY_FEW = ("celery.bin.celery", "drf_spectacular.generators", "jwt", "openai", "redis")
PRELOADS = """
import gc, json, os, sys
gc.disable()
import django
django.setup()
from bigmind.embedded.preloading import begin_to_preload, preload
begin_to_preload().join()
preload()
"""
LISTS = f"""
from knowledge.shapes.facts import FactShape
from mcp.types import JSONRPCRequest
built = [model.__name__ for model in (FactShape, JSONRPCRequest) if model.__pydantic_complete__]
JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
imported = sorted({{*{USED_BY_FEW}}} & {{*sys.modules}})
print(json.dumps([imported, built, gc.isenabled(), gc.get_freeze_count() > 100_000]))
"""
COPIES = """
from knowledge.embeddings import minilm, multilingual
from knowledge.embeddings.providers import provider
from knowledge.search import language_identification as languages
texts = ["How are deploys done?"] * 3
models = [minilm.load_minilm, multilingual.load_multilingual, languages._identifier]
loaded = [load() for load in models]
vector = provider().embed(texts)[2].tolist()
read, write = os.pipe()
if os.fork() == 0:
    same = [load() for load in models] == loaded
    is_near = abs(provider().embed(texts)[2] - vector).max() < 1e-5
    os.write(write, json.dumps([same, bool(is_near), len(os.listdir("/proc/self/task"))]).encode())
    os._exit(0)
os.wait()
print(os.read(read, 1000).decode())
"""


def run(program: str, home: Path) -> list[list[object]]:
    own = {**os.environ, "DJANGO_SETTINGS_MODULE": "bigmind.settings", "BIGMIND_HOME": str(home)}
    own["BIGMIND_EMBEDDING_PROVIDER"] = "builtin"
    done = subprocess.run([sys.executable, "-c", PRELOADS + program], cwd=ROOT, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


IMPORTS = """
import gc, importlib, json, os, pkgutil, signal, sys, threading, time
import django
django.setup()
from django.conf import settings
from django.db import connections
import accounts, bigmind, curation, knowledge
from bigmind.database.rls import FIRST
handler = [signal.getsignal(number) for number in signal.valid_signals()]
state = lambda: {
    "databases": sorted(settings.DATABASES),
    "connections": [made.alias for made in connections.all(initialized_only=True)],
    "environment": {name: text for name, text in os.environ.items() if name not in SET_BY_LIBRARIES},
    "switch interval": sys.getswitchinterval(),
    "recursion": sys.getrecursionlimit(),
    "signals": [signal.getsignal(number) == was for number, was in zip(signal.valid_signals(), handler)],
    "threads": sorted(thread.name for thread in threading.enumerate()),
    "children": [*open(f"/proc/self/task/{os.getpid()}/children")] if sys.platform == "linux" else [],
    "first sees": FIRST.sees,
    "folder": os.getcwd(),
    "umask": os.umask(0o022),
    "time zone": time.tzname,
    "collector": gc.isenabled(),
}
changes, before = {}, state()
for package in (bigmind, accounts, knowledge, curation):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            if (after := state()) != before:
                changes[module.name] = [name for name in after if after[name] != before[name]]
                before = after
print(json.dumps(changes))
"""
SET_BY_LIBRARIES = ("KMP_DUPLICATE_LIB_OK",)
"""By threadpoolctl."""


def test_no_import_changes_the_process(tmp_path: Path) -> None:
    """A process that is copied would hand the change on to all, as the worker once forgot who owns the tables."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("BIGMIND_")}
    own |= {"DJANGO_SETTINGS_MODULE": "bigmind.settings", "BIGMIND_HOME": str(tmp_path)}
    own |= {f"BIGMIND_DATABASE_{role}URL": f"postgres://{role}@127.0.0.1:9/none" for role in ("", "OWNER_")}
    said = subprocess.run(
        [sys.executable, "-c", f"{SET_BY_LIBRARIES=}\n{IMPORTS}"], cwd=ROOT, env=own, capture_output=True, text=True
    )

    assert json.loads(said.stdout.splitlines()[-1]) == {}, said.stderr


@pytest.mark.skipif(not IS_FORKED, reason="processes are copied on Linux only")
def test_a_start_imports_nothing_that_few_use_and_copies_have_the_models_and_compute_with_one_thread(tmp_path):
    assert run(LISTS + COPIES, tmp_path) == [[[], [], True, True], [True, True, 1]]

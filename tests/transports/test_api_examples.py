"""The examples on the pages of operations are executed as they stand: by a shell, by Python and by Node."""

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from bigmind.operations import CATALOGUE
from bigmind.transports.rest.reference_pages import ExampleRequest
from knowledge.models import Fact
from tests.factories import make_key

NAMES = ("memory_store_fact", "memory_list_facts", "knowledge_set", "memory_recall")
WAYS = {
    "curl": ("curl", ["bash", "-c"], ExampleRequest.to_curl),
    "Python": (sys.executable, [sys.executable, "-c"], ExampleRequest.to_python),
    "JavaScript": ("node", ["node", "--input-type=module", "-e"], ExampleRequest.to_javascript),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", WAYS)
def test_an_example_does_what_it_says(way: str, live_server: Any) -> None:
    program, command, write = WAYS[way]
    if shutil.which(program) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{program} is missing.")
    environment = {**os.environ, "BIGMIND_API_KEY": make_key().text}

    for name in NAMES:
        text = write(ExampleRequest.of(CATALOGUE[name], live_server.url))
        done = subprocess.run(
            [*command, text], env=environment, capture_output=True, text=True, timeout=60, check=False
        )

        assert done.returncode == 0, done.stderr
        if way == "curl":
            assert "type" not in json.loads(done.stdout), name
        assert "problem" not in done.stdout
    assert Fact.objects.get().fact.startswith("Prefers pytest")

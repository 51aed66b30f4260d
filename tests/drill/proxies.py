"""HAProxy and nginx before two instances, as `packaging/proxies` has them, on plain http."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.embedded.instance import eventually, free_port
from tests.growing.test_proxies import NAME, PROXIES

OF_TLS = re.compile(r".*(ssl_certificate|bind :443|redirect scheme https|X-Forwarded-Proto https).*\n")
OTHER_NAMES = re.compile(r"server \{\n    listen 80;.*?\n\}\n", re.DOTALL)


class Proxy:
    """One of them, as a process. What it says of names and certificates is left out; the rest is as in the example."""

    def __init__(self, kind: str, folder: Path, ports: Sequence[int], port: int | None = None) -> None:
        self.kind, self.folder = kind, folder
        self.port = port or free_port()
        self.url = f"http://localhost:{self.port}"
        self._program = shutil.which(kind, path=f"{os.environ['PATH']}:/usr/sbin")
        self._process: subprocess.Popen[bytes] | None = None
        self._ports = ports

    def start(self) -> None:
        """Start it, and return when it leads to somebody."""
        if self._program is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{self.kind} is missing: install it.")
        with (self.folder / f"{self.kind}.log").open("ab") as log:
            self._process = subprocess.Popen([self._program, *self._arguments()], stdout=log, stderr=log)
        eventually(lambda: httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200)

    def kill(self) -> None:
        """End it at once, with all connections through it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _arguments(self) -> list[str]:
        file = self.folder / f"{self.kind}.conf"
        if self.kind == "haproxy":
            text = OF_TLS.sub("", (PROXIES / "haproxy.cfg").read_text()).replace(
                "bind :80", f"bind 127.0.0.1:{self.port}"
            )
            # Where the Host of a check is no name of BigMind, it is refused.
            file.write_text(_both(text.replace(NAME, "localhost"), "server one", " check", self._ports))
            return ["-db", "-f", str(file)]
        text = OTHER_NAMES.sub("", OF_TLS.sub("", (PROXIES / "nginx.conf").read_text()))
        text = text.replace("listen 443 ssl http2", f"listen 127.0.0.1:{self.port}").replace(NAME, "localhost")
        paths = [f"{one}_temp_path {self.folder};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]
        text = _both(text, "server", " max_fails=0;", self._ports)
        file.write_text(
            f"pid {self.folder}/nginx.pid; error_log stderr; master_process off; daemon off; user root;\n"
            f"events {{}}\nhttp {{ access_log off; {' '.join(paths)}\n{text} }}"
        )
        return ["-c", str(file), "-p", str(self.folder)]


def _both(text: str, before: str, after: str, ports: Sequence[int]) -> str:
    """Name all servers where the example names the one."""
    line = f"    {before} 127.0.0.1:7700{after}\n"
    assert line in text
    name = before.replace("one", "number-{}") if "one" in before else before
    return text.replace(
        line, "".join(f"    {name.format(n)} 127.0.0.1:{port}{after}\n" for n, port in enumerate(ports))
    )

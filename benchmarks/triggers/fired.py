"""Whether triggers fire before the mistakes they are about, and how long a client waits for that."""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from accounts.connecting.act_program import sign
from accounts.connecting.hook_files import HookConfig, HookFolder, _base_python
from accounts.connecting.hooks import ACT_FILE
from bigmind.triggers import act_of, compile_trigger

from .lessons import LESSONS
from .traces import FOLDER, Trace, write_traces

KEY = "bm_of_the_benchmark"
RUNS = 100


def measure() -> list[str]:
    """Return the lines of the tables."""
    traces = write_traces()
    compiled = [[compile_trigger(text) for text in lesson.triggers] for lesson in LESSONS]
    found = [(trace, _fired(trace, compiled)) for trace in traces]
    mistakes = [(trace, fired) for trace, fired in found if trace.lesson is not None]
    caught = [trace for trace, fired in mistakes if trace.lesson in fired]
    others = [(trace, fired) for trace, fired in found if trace.lesson is None]
    false = [(trace, fired) for trace, fired in found if fired - {trace.lesson}]
    lines = [
        "| what | figure | target |",
        "|---|---|---|",
        f"| mistakes before which their trigger fired | {len(caught)} of {len(mistakes)}, "
        f"{len(caught) / len(mistakes):.3f} | ≥ 0.95 |",
        f"| false advice, per 200 calls | {200 * len(false) / len(found):.1f} ({len(false)} of {len(found)}, "
        f"{len(others)} of them harmless) | ≤ 1 |",
    ]
    lines += [f"| not caught | `{_shown(trace)}` | |" for trace, fired in mistakes if trace.lesson not in fired]
    lines += [f"| false | `{_shown(trace)}` | |" for trace, _ in false]
    for count in (0, 100, 1_000):
        median, late = _times(count, traces)
        lines.append(
            f"| the whole hook with {count:,} triggers, p50 and p95 of {RUNS} | {median:.0f} and {late:.0f} ms | ≤ 30 |"
        )
    median, late = _bare_times()
    lines.append(f"| of that, Python starting and ending, with `json` | {median:.0f} and {late:.0f} ms | |")
    return lines


def _shown(trace: Trace) -> str:
    return trace.act.replace("\n", "↵").replace("|", "¦")


def _fired(trace: Trace, compiled: list[list[Any]]) -> set[int]:
    act = act_of(trace.event, FOLDER, FOLDER)
    if act is None:
        return set()
    return {number for number, triggers in enumerate(compiled) if any(act.fires(*trigger) for trigger in triggers)}


def _times(count: int, traces: list[Trace]) -> tuple[float, float]:
    """Return p50 and p95 of the program as a client starts it, in milliseconds, with so many entries of one trigger."""
    texts = [text for lesson in LESSONS for text in lesson.triggers]
    chosen = list(islice(cycle(texts), count))
    with tempfile.TemporaryDirectory(prefix="bigmind-acts-") as place:
        hooks = HookFolder(Path(place) / "hooks")
        for client in {trace.client for trace in traces}:
            hooks.write(HookConfig(client, "http://127.0.0.1:9", KEY))
            _write_set(hooks.folder, client, chosen)
        program = [_base_python(), "-I", "-S", str(hooks.folder / ACT_FILE)]
        events = [(trace.client, json.dumps(trace.event).encode()) for trace in traces]
        _run(program, *events[0], place)  # compiles it
        return _p50_and_p95([_run(program, *events[number * 7 % len(events)], place) for number in range(RUNS)])


def _write_set(folder: Path, client: str, triggers: list[str]) -> None:
    items = [
        {"k": "company", "i": str(n), "h": f"C{n}", "l": "shadow", "p": [], "t": [[*compile_trigger(text), text]]}
        for n, text in enumerate(triggers)
    ]
    texts = {
        item["h"]: {"says": "What is known of it. " * 20, "page": "http://127.0.0.1:9/company/1/"} for item in items
    }
    told = json.dumps(texts)
    digest = hashlib.sha256(told.encode()).hexdigest()
    compared = json.dumps({"records": True, "texts": digest, "items": items})
    (folder / "triggers").mkdir(exist_ok=True)
    (folder / "triggers" / f"{client}.set").write_text(f"{sign(KEY, compared.encode())}\n{compared}\n{told}")


def _run(program: list[str], client: str, raw: bytes, home: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [*program, client], input=raw, capture_output=True, check=True, env={"HOME": home, "PATH": os.defpath}
    )
    return (time.perf_counter() - began) * 1000


def _bare_times() -> tuple[float, float]:
    program = [_base_python(), "-I", "-S", "-c", "import json"]
    return _p50_and_p95([_run(program, "", b"", tempfile.gettempdir()) for _ in range(RUNS)])


def _p50_and_p95(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    sys.stdout.write("\n".join(measure()) + "\n")

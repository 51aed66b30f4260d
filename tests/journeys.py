"""How much of the product a journey runs: its files, its calls and its statements."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection

from bigmind.core.after_reply import AFTER_REPLY
from bigmind.database.postgresql.kept_plans import Together

ROOT = Path(__file__).parent.parent
APPS = tuple(f"{ROOT / app}/" for app in ("bigmind", "accounts", "knowledge", "curation"))


class Cost(NamedTuple):
    """What a journey ran: Python files of the product, calls of its functions, statements."""

    files: int
    calls: int
    statements: int


class Journey:
    """Counts what is run inside this block. Generators count each time they go on, and comprehensions once."""

    def __init__(self) -> None:
        self.places: Counter[tuple[str, str]] = Counter()
        self.statements: list[str] = []

    @property
    def cost(self) -> Cost:
        """The sums of it."""
        return Cost(len({file for file, _ in self.places}), self.places.total(), len(self.statements))

    def by_file(self) -> list[tuple[str, int]]:
        """The calls of each file, most first: what to look at where a journey became longer."""
        files: Counter[str] = Counter()
        for (file, _), number in self.places.items():
            files[file.removeprefix(f"{ROOT}/")] += number
        return files.most_common()

    def __enter__(self) -> "Journey":
        self._wrapper = connection.execute_wrapper(self._note_statement)
        self._wrapper.__enter__()
        sys.setprofile(self._note_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self._wrapper.__exit__(None, None, None)

    def _note_call(self, frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(APPS) and "/migrations/" not in code.co_filename:
            self.places[code.co_filename, code.co_qualname] += 1

    def _note_statement(self, execute: Callable[..., Any], sql: Any, *rest: Any) -> Any:
        self.statements += [part for part, _ in sql.parts] if isinstance(sql, Together) else [str(sql)]
        return execute(sql, *rest)


def warm(act: Callable[[], object], times: int = 3) -> Journey:
    """Return what an act runs once it has been run before; what is written after a reply is written in between."""
    for _ in range(times):
        act()
        AFTER_REPLY.write()
    with Journey() as journey:
        act()
    return journey

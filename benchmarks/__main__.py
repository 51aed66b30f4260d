"""`python -m benchmarks`: measure, print the table, and with `--write` put it into docs/benchmarks.md."""

import argparse
import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def main() -> None:
    """Start an instance of its own in a temporary folder, measure it, stop it."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bigmind-bench-") as folder:
        table = _measured(Path(folder))
    print(table)
    if arguments.write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


def _measured(home: Path) -> str:
    for name in [name for name in os.environ if name.startswith("BIGMIND_")]:
        del os.environ[name]
    os.environ.update(BIGMIND_HOME=str(home), BIGMIND_RATE_LIMIT="0", DJANGO_SETTINGS_MODULE="bigmind.settings")

    from bigmind.embedded.home import prepare_home
    from bigmind.embedded.postgres import Cluster

    prepare_home(home)
    cluster = Cluster(home)
    cluster.start()
    try:
        return _table()
    finally:
        cluster.stop()


def _table() -> str:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)

    from benchmarks import calls, starts, tokens

    rows = [*starts.measure(), *calls.measure(), *tokens.measure()]
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    machine = f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores"
    lines = ["| what | figure | target | measured |", "|---|---|---|---|", *rows]
    return "\n".join([f"{when}, {machine}, `make bench`:", "", *lines, ""])


if __name__ == "__main__":
    main()

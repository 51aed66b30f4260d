"""`python -m benchmarks`: measure, print the tables, and with `--write` put them into docs/benchmarks.md."""

import argparse
import os
import platform
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
SPEED, SEARCH, RETRIEVAL, OPERATIONS, GROWTH = "figures", "search", "retrieval", "operations", "growth"
COST, ACTS, MANY, DECISIONS, TRIGGERS, DESK = "cost", "acts", "many", "decisions", "triggers", "desk"
CONTEXT, TRUTH, UNKNOWN, THEN, LOOKUP, ANCHORS = "context", "truth", "unknown", "then", "documentation", "anchors"
PEERS, COMPANY, SERVERS, SMALL, RERANKER, HOOKS = "peers", "company", "servers", "small", "reranker", "hooks"
CHAINS, SIZES = "chains", "sizes"
"""What is measured, by the name that its table's markers have in the page."""


def main() -> None:
    """Start an instance of its own in a temporary folder, measure it, stop it."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="write the tables into docs/benchmarks.md and docs/growing.md"
    )
    parser.add_argument("--only", choices=list(_MEASURES), help="measure this alone")
    parser.add_argument(
        "--golden", action="store_true", help="ask the golden questions of the running instance, and nothing else"
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="measure retrieval on this folder or file of conversations alone"
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="of retrieval and sizes ask every Nth question"
    )
    arguments = parser.parse_args()
    if arguments.data and (problem := _problem_of(arguments.data)):
        parser.error(problem)
    if arguments.golden:
        print("\n".join(_golden()))
        return
    # One takes hours at its full size and one half an hour, one measures nothing, two need the network, one a browser,
    # two programs of others, one asks everything seven times, and one rewrites tables three times.
    usual = _MEASURES.keys() - {GROWTH, COMPANY, LOOKUP, ANCHORS, DESK, PEERS, DECISIONS, SERVERS, SIZES, MANY}
    chosen = {arguments.only} if arguments.only else usual
    measures = {name: measure for name, measure in _MEASURES.items() if name in chosen}
    for name, measure in {RETRIEVAL: _retrieval, UNKNOWN: _unknown, SIZES: _sizes}.items():
        if name in measures:
            measures[name] = partial(measure, every=arguments.every)
    if arguments.data:
        measures = {"data": lambda: _retrieval_of(arguments.data)}
    with tempfile.TemporaryDirectory(prefix="bigmind-bench-") as folder:
        tables = _measured(Path(folder), measures)
    print("\n".join(tables.values()))
    if arguments.write and not arguments.data:
        for name, table in tables.items():
            _write(name, table)


def _golden() -> list[str]:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
    django.setup()
    from benchmarks.retrieval import golden
    from bigmind.database.rls import rls_bypass

    with rls_bypass():
        return golden.measure()


def _write(name: str, table: str) -> None:
    page = DOCS / ("growing.md" if name in {GROWTH, COMPANY} else "benchmarks.md")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    head, _, rest = page.read_text().partition(begin)
    page.write_text(f"{head}{begin}\n{table}\n{end}{rest.partition(end)[2]}")


def _measured(home: Path, measures: dict[str, Callable[[], str]]) -> dict[str, str]:
    for name in [name for name in os.environ if name.startswith("BIGMIND_")]:
        del os.environ[name]
    os.environ.update(BIGMIND_HOME=str(home), BIGMIND_RATE_LIMIT="0", DJANGO_SETTINGS_MODULE="bigmind.settings")

    from bigmind.embedded.cluster import Cluster
    from bigmind.embedded.home import prepare_home

    prepare_home(home)
    cluster = Cluster(home)
    cluster.start()
    os.environ["BIGMIND_DATABASE_URL"] = cluster.url  # As the owner: rows come in by COPY, which no policy lets pass.
    try:
        _set_up()
        return {name: measure() for name, measure in measures.items()}
    finally:
        cluster.stop()


def _set_up() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _speed() -> str:
    from benchmarks import calls, pages, starts, tokens

    return _table([*starts.measure(), *calls.measure(), *pages.measure(), *tokens.measure()], "make bench")


def _cost() -> str:
    from benchmarks import cost, first_calls

    return _table([*cost.measure(), *first_calls.measure()], f"python -m benchmarks --only {COST}")


def _acts() -> str:
    from benchmarks import acts

    return "\n".join([f"{_today()}, `python -m benchmarks --only {ACTS}`:", "", *acts.measure(), ""])


def _many() -> str:
    from benchmarks import acts

    return "\n".join([f"{_today()}, `python -m benchmarks --only {MANY}`:", "", *acts.measure_many(), ""])


def _search() -> str:
    from benchmarks import search

    return _table(search.measure(), f"python -m benchmarks --only {SEARCH}")


def _context() -> str:
    from benchmarks.context import told

    return _table(told.measure(), f"python -m benchmarks --only {CONTEXT}")


def _truth() -> str:
    from benchmarks.truth import tables

    return "\n".join([f"{_today()}, `python -m benchmarks --only {TRUTH}`:", "", *tables.measure(), ""])


def _triggers() -> str:
    from benchmarks.triggers import fired

    return "\n".join([f"{_today()}, `python -m benchmarks --only {TRIGGERS}`:", "", *fired.measure(), ""])


def _unknown(*, every: int = 1) -> str:
    from benchmarks.retrieval import unknown

    return "\n".join([f"{_today()}, `{_command(UNKNOWN, every)}`:", "", *unknown.measure(every), ""])


def _small() -> str:
    from benchmarks.retrieval import small

    return "\n".join([f"{_today()}, `python -m benchmarks --only {SMALL}`:", "", *small.measure(), ""])


def _sizes(*, every: int = 1) -> str:
    from benchmarks.retrieval import sizes

    return "\n".join([f"{_today()}, `{_command(SIZES, every)}`:", "", *sizes.measure(every), ""])


def _chains() -> str:
    from benchmarks.retrieval import chains

    return "\n".join([f"{_today()}, `python -m benchmarks --only {CHAINS}`:", "", *chains.measure(), ""])


def _reranker() -> str:
    from benchmarks.retrieval import reranked

    return "\n".join([f"{_today()}, `python -m benchmarks --only {RERANKER}`:", "", *reranked.measure(), ""])


def _hooks() -> str:
    from benchmarks.retrieval import hooked

    return "\n".join([f"{_today()}, `python -m benchmarks --only {HOOKS}`:", "", *hooked.measure(), ""])


def _then() -> str:
    from benchmarks.retrieval import then

    return "\n".join([f"{_today()}, `python -m benchmarks --only {THEN}`:", "", *then.measure(), ""])


def _decisions() -> str:
    from benchmarks import decisions

    return _table(decisions.measure(), f"python -m benchmarks --only {DECISIONS}")


def _desk() -> str:
    from benchmarks import desk

    return _table(desk.measure(), f"python -m benchmarks --only {DESK}")


def _peers() -> str:
    from benchmarks import peers

    return "\n".join([f"{_today()}, `python -m benchmarks --only {PEERS}`:", "", *peers.measure(), ""])


def _servers() -> str:
    from benchmarks import servers

    return "\n".join([f"{_today()}, `python -m benchmarks --only {SERVERS}`:", "", *servers.measure(), ""])


def _lookup() -> str:
    from benchmarks.documentation import questions

    return "\n".join([f"{_today()}, `python -m benchmarks --only {LOOKUP}`:", "", *questions.measure(), ""])


def _anchors() -> str:
    from benchmarks.anchors import measure

    with tempfile.TemporaryDirectory() as folder:
        lines = measure.measure(Path(folder))
    return "\n".join([f"{_today()}, `python -m benchmarks --only {ANCHORS}`:", "", *lines, ""])


def _operations() -> str:
    from benchmarks import operations

    return "\n".join([f"{_today()}, `python -m benchmarks --only {OPERATIONS}`:", "", *operations.measure(), ""])


def _growth() -> str:
    from benchmarks import growth

    return _table(growth.measure(), f"python -m benchmarks --only {GROWTH}")


def _company() -> str:
    from benchmarks import company

    lines = ["| what | simulated | by |", "|---|---|---|", *company.measure()]
    return "\n".join([f"{_today()}, `python -m benchmarks --only {COMPANY}`:", "", *lines, ""])


def _table(rows: list[str], command: str) -> str:
    machine = f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores"
    lines = ["| what | figure | target | measured |", "|---|---|---|---|", *rows]
    return "\n".join([f"{_today()}, {machine}, `{command}`:", "", *lines, ""])


def _retrieval(*, every: int = 1) -> str:
    from benchmarks.retrieval.tables import tables_of_shapes

    return f"{_today()}, `{_command(RETRIEVAL, every)}`:\n\n{tables_of_shapes(every)}"


def _command(name: str, every: int) -> str:
    return f"python -m benchmarks --only {name}" + (f" --every {every}" if every > 1 else "")


def _problem_of(path: Path) -> str:
    """Read what is to be measured, so that a wrong file is refused before an instance starts; empty if it is good."""
    from benchmarks.retrieval.beir import read_conversations, read_corpus

    try:
        corpora = [read_corpus(path)] if path.is_dir() else read_conversations(path)
    except FileNotFoundError as error:
        return str(error) if error.filename is None else f"{error.filename} does not exist."
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        kind = type(error).__name__
        return f"{path} is not in a layout that docs/benchmarks.md describes under Retrieval: {kind} {error}"
    empty = [one.name for one in corpora if not (one.documents and one.questions)]
    return f"{path}: no question of {', '.join(empty)} has a judged answer." if empty or not corpora else ""


def _retrieval_of(path: Path) -> str:
    from benchmarks.retrieval.beir import read_conversations, read_corpus
    from benchmarks.retrieval.tables import tables_of

    corpora = [read_corpus(path)] if path.is_dir() else read_conversations(path)
    return "\n\n".join(f"{corpus.name}:\n\n{tables_of(corpus)}" for corpus in corpora)


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


_MEASURES = {
    SPEED: _speed,
    COST: _cost,
    ACTS: _acts,
    MANY: _many,
    CONTEXT: _context,
    SEARCH: _search,
    TRUTH: _truth,
    TRIGGERS: _triggers,
    UNKNOWN: _unknown,
    SMALL: _small,
    SIZES: _sizes,
    CHAINS: _chains,
    RERANKER: _reranker,
    HOOKS: _hooks,
    RETRIEVAL: _retrieval,
    THEN: _then,
    DECISIONS: _decisions,
    DESK: _desk,
    PEERS: _peers,
    SERVERS: _servers,
    LOOKUP: _lookup,
    ANCHORS: _anchors,
    OPERATIONS: _operations,
    GROWTH: _growth,
    COMPANY: _company,
}


if __name__ == "__main__":
    main()

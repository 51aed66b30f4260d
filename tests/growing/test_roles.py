"""A BigMind whose application is another role than the owner of its tables: it does all it should, and no more."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from bigmind.database.roles import ONLY_GROWS
from bigmind.operations import CATALOGUE
from bigmind.transports.rest.examples import example_arguments
from knowledge.search.indexes import LARGE
from tests.embedded.console import Console
from tests.embedded.instance import CopiedInstance, Instance, eventually
from tests.growing.server import APPLICATION, PASSWORD, TwoRoles, two_roles
from tests.torture.writes import client_of

TAKEN = (
    f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {APPLICATION}",
    f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {APPLICATION}",
    f"ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM {APPLICATION}",
    f"ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON SEQUENCES FROM {APPLICATION}",
)
ASK = "print(owner().alias, *os.environ, flush=True)"
SERVES = {
    "asgi": f"""
import asyncio, os
from bigmind.asgi import lifespan
from bigmind.database.roles import owner
{ASK}
async def serve():
    async with lifespan(None):
        {ASK}
asyncio.run(serve())
""",
    "wsgi": f"""
import os
from django.test import RequestFactory
from bigmind.database.roles import owner
from bigmind.wsgi import application
{ASK}
application(RequestFactory().get("/healthz").environ, lambda *_: None)
{ASK}
""",
}
SEND = "from bigmind.celery import app; app.send_task('knowledge.tasks.{}', ignore_result=True)\n"
NEAR = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'knowledge\\_near\\_%'"
ANALYSED = "SELECT last_analyze IS NOT NULL FROM pg_stat_user_tables WHERE relname = 'knowledge_passage'"
HAS_RUN = "SELECT count(*) > 0 FROM accounts_tasktally WHERE task = 'knowledge.tasks.keep_indexes'"
ADD_MANY = """
WITH space AS (
    INSERT INTO knowledge_embeddingspace (name, dimensions, batch_size, created_at)
    VALUES ('many', 2, 1, now()) RETURNING id
), added AS (
    INSERT INTO knowledge_passage (kind, source_id, ordinal, text, project, language, digest, created_at)
    SELECT 'company', 'many', number, 'buoy', '', 'english', '', now() FROM generate_series(1, %s) AS number
    RETURNING id, ordinal
), others AS (
    INSERT INTO knowledge_passagevector (passage_id, space_id, kind, trouble, not_before)
    SELECT added.id, other.id, 'company', '', 'infinity' FROM added, knowledge_embeddingspace AS other
)
INSERT INTO knowledge_passagevector (passage_id, space_id, kind, trouble, vector)
SELECT added.id, space.id, 'company', '', ARRAY[1, ordinal]::halfvec FROM added, space RETURNING space_id
"""
"""Vectors of a space that embeds nothing; in the other spaces the passages wait."""
REMOVE_MANY = """
WITH many AS (SELECT id FROM knowledge_passage WHERE source_id = 'many'),
    gone AS (DELETE FROM knowledge_passagevector WHERE passage_id IN (SELECT id FROM many)),
    space AS (DELETE FROM knowledge_embeddingspace WHERE name = 'many')
DELETE FROM knowledge_passage WHERE source_id = 'many'
"""


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Instance, TwoRoles]]:
    with two_roles(migrated=True) as (server, folder):
        with server.as_owner() as owner:
            for taken in TAKEN:  # So whoever owns the tables gives them to the application at each start.
                owner.execute(taken)
        variables = {"BIGMIND_EMBEDDING_PROVIDER": "hashing", "BIGMIND_RATE_LIMIT": "0", **server.variables}
        instance = CopiedInstance(folder / "home", **variables)
        try:
            yield instance.start(), server
        finally:
            instance.hurry()


@pytest.fixture(scope="module")
def console(running: tuple[Instance, TwoRoles]) -> Console:
    instance, server = running
    return Console(instance.home, **server.variables, BIGMIND_PORT=str(instance.port))


@pytest.fixture
def rest(running: tuple[Instance, TwoRoles]) -> Iterator[httpx.Client]:
    with client_of(running[0]) as client:
        yield client


@pytest.fixture
def application(running: tuple[Instance, TwoRoles]) -> Iterator[psycopg.Connection]:
    with running[1].as_application() as connection:
        yield connection


def test_what_is_written_gets_its_vector_and_is_found(rest: httpx.Client) -> None:
    rest.post("facts/", json={"fact": "The lantern of the depot is green.", "category": "decision"}).raise_for_status()

    def is_found() -> bool:
        answer = rest.get("search/", params={"query": "lantern depot", "explain": True}).json()
        return not answer["fallback"] and "lantern" in json.dumps(answer["items"])

    eventually(is_found)


def test_no_operation_needs_more_than_the_application_may(running: tuple[Instance, TwoRoles]) -> None:
    instance, _ = running
    with client_of(instance) as rest:
        broken = {}
        for operation in CATALOGUE.values():
            arguments = example_arguments(operation)
            path = operation.path.format(**arguments)
            sent = {"params": arguments} if operation.method in {"GET", "DELETE"} else {"json": arguments}
            answer = rest.request(operation.method, path, **sent)
            if answer.status_code >= 500:
                broken[operation.name] = answer.text

    assert broken == {}
    assert "permission denied" not in "".join(log.read_text() for log in (instance.home / "logs").glob("*.log"))


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE knowledge_fact DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE knowledge_fact NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY seen_by_its_owner ON knowledge_fact",
        "ALTER TABLE curation_review DISABLE TRIGGER curation_review_only_grows",
        "SET session_replication_role = replica",
        "UPDATE curation_review SET seal = ''",
        "DELETE FROM curation_review",
        "TRUNCATE knowledge_fact",
        "TRUNCATE accounts_auditevent",
        "DELETE FROM accounts_auditevent",
        "UPDATE accounts_auditevent SET number = number + 1",
        "DELETE FROM django_migrations",
        "CREATE TABLE mine ()",
        "DROP FUNCTION curation_review_only_grows() CASCADE",
        "SELECT bigmind_row_token('everybody')",
        "SET bigmind.sees = 'everybody'; SELECT count(*) FROM knowledge_fact",
        "SET bigmind.sees = 'everybody:0'; SELECT count(*) FROM knowledge_fact",
        "CREATE TRIGGER forge BEFORE INSERT ON knowledge_fact EXECUTE FUNCTION knowledge_forget_receipt_texts()",
    ],
)
def test_the_application_can_neither_lift_the_wall_nor_rewrite_history(application, statement):
    with pytest.raises(InsufficientPrivilege):
        application.execute(statement)


def test_the_application_reads_no_key_by_which_to_make_a_token(running, application):
    with running[1].as_owner() as owner:
        kept = owner.execute("SELECT count(*) FROM bigmind_row_key").fetchone()

    seen = application.execute("SELECT count(*) FROM bigmind_row_key").fetchone()
    application.execute("DELETE FROM bigmind_row_key")
    with pytest.raises(InsufficientPrivilege):
        application.execute("INSERT INTO bigmind_row_key VALUES ('', '', 'infinity')")

    assert (kept, seen) == ((1,), (0,))


def test_the_application_can_still_erase_a_name_from_history(application: psycopg.Connection) -> None:
    application.execute("UPDATE curation_review SET by_name = '', agent_name = '', by_id = NULL")


def test_a_table_that_is_made_later_is_given_to_the_application(running, application):
    with running[1].as_owner() as owner:
        owner.execute("CREATE TABLE later (id bigserial, text text)")
        try:
            application.execute("INSERT INTO later (text) VALUES ('x')")
        finally:
            owner.execute("DROP TABLE later")


def test_every_table_that_only_grows_is_kept_from_the_application(application: psycopg.Connection) -> None:
    guarded = application.execute(
        "SELECT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal AND tgname LIKE '%only\\_grow%'"
    ).fetchall()

    assert {table for (table,) in guarded} == set(ONLY_GROWS)


@pytest.mark.parametrize("server", ["asgi", "wsgi"])
def test_a_process_forgets_the_owner_when_it_serves_and_not_when_it_imports(console: Console, server: str) -> None:
    imported, serving = console.script(SERVES[server]).splitlines()

    assert imported.startswith("owner ")
    assert "BIGMIND_DATABASE_OWNER_URL" in imported
    assert serving.startswith("default ")
    assert "BIGMIND_DATABASE_OWNER_URL" not in serving


def test_the_worker_that_is_at_work_keeps_indexes_and_statistics(running, console):
    with running[1].as_owner() as owner:

        def near() -> list[str]:
            return [name for (name,) in owner.execute(NEAR)]

        (space,) = owner.execute(ADD_MANY, [LARGE]).fetchone()
        console.script(SEND.format("embed_pending") + SEND.format("keep_indexes"))
        eventually(lambda: near() == [f"knowledge_near_{space}_shared"])
        eventually(lambda: owner.execute(ANALYSED).fetchone() == (True,))

        owner.execute(REMOVE_MANY)
        console.script(SEND.format("keep_indexes"))
        eventually(lambda: near() == [])


def test_what_a_worker_may_not_do_is_said_at_every_place_until_one_does_it(running, console, rest):
    instance, server = running
    without = Console(instance.home, BIGMIND_DATABASE_URL=server.application_url)
    runs = "from knowledge.tasks import keep_indexes; print(repr(keep_indexes.apply().result))"

    def heard() -> str:
        checks = httpx.get(f"{instance.url}/readyz", timeout=30).json()["checks"]
        return str(checks["indexes"].get("trouble", ""))

    with server.as_owner() as owner:  # The worker that just began looks after them, too.
        eventually(lambda: owner.execute(HAS_RUN).fetchone() == (True,))
    refusal = without.script(runs)
    in_trouble = heard()
    doctor, health = console.doctor()["indexes"], rest.get("health/").json()
    console.script(SEND.format("keep_indexes"))
    eventually(lambda: heard() == "")

    assert "Cannot build indexes: this process does not own the tables" in refusal
    assert "set its BIGMIND_DATABASE_OWNER_URL" in in_trouble
    assert (doctor["status"], doctor["found"]) == ("problem", in_trouble)
    assert in_trouble in " ".join(finding["says"] for finding in health["findings"])


@pytest.mark.parametrize("command", ["migrate", "scrub --why leaked --yes --vacuum", "restore backups --replace --yes"])
def test_a_command_that_needs_the_owner_says_so_and_changes_nothing(running, console, tmp_path, command):
    instance, server = running
    if command.startswith("restore"):
        console.command("backup", str(tmp_path / "backups"))
    without = Console(instance.home, BIGMIND_DATABASE_URL=server.application_url)

    done = without.run(*command.replace("backups", str(tmp_path / "backups")).split(), said="lantern\n")

    assert done.returncode != 0
    assert "this process does not own the tables; set BIGMIND_DATABASE_OWNER_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_says_which_role_it_is(console: Console) -> None:
    checks = console.doctor()

    assert checks["wall"]["status"] == "ok"
    assert f"{APPLICATION} reads and writes rows, and may do no more" in checks["wall"]["found"]
    assert PASSWORD not in json.dumps(checks)


def test_an_outage_of_the_database_is_a_few_lines_and_pages_say_when_to_come_back(running, rest):
    instance, server = running
    logs = {name: instance.home / "logs" / f"{name}.log" for name in ("web", "worker")}
    begins = {name: len(log.read_bytes()) for name, log in logs.items()}
    signed_in = httpx.Client(base_url=instance.url, cookies={"bigmind_session": "s" * 32})

    server.stop()
    answers = [
        ask() for _ in range(30) for ask in (lambda: rest.get("facts/"), lambda: signed_in.get("/memory/facts/"))
    ]
    server.restart()
    eventually(lambda: rest.get("facts/").status_code == 200)
    # Each of two web processes says that it begins and ends.
    eventually(lambda: logs["web"].read_text().count("An outage is over.") in {1, 2}, within=20)

    written = {name: log.read_bytes()[begins[name] :].decode() for name, log in logs.items()}
    assert {answer.status_code for answer in answers} == {503}
    assert all("Retry-After" in answer.headers for answer in answers)
    assert "Traceback" not in written["web"] + written["worker"]
    assert len([line for line in written["web"].splitlines() if "was slow" not in line]) <= 4, written["web"]


@pytest.fixture
def apart(running: tuple[Instance, TwoRoles], tmp_path: Path) -> Console:
    """A machine on which nothing runs yet, which knows the application alone."""
    variables = {"BIGMIND_DATABASE_URL": running[1].application_url, "BIGMIND_PUBLIC_URL": running[0].url}
    key = (running[0].home / "secret_key").read_text()
    return Console(tmp_path, BIGMIND_SECRET_KEY=key, BIGMIND_REDIS_URL="redis://127.0.0.1:1", **variables)


def test_the_doctor_finds_a_machine_well_that_runs_web_alone(apart: Console) -> None:
    checks = apart.doctor(part="web")

    wrong = {name for name, check in checks.items() if check["status"] not in {"ok", "skipped"}}
    assert checks["part"]["found"] == "web: as you asked"
    assert wrong - {"worker"} == {"broker"}  # There is no Redis here, and the worker elsewhere may have just begun.
    assert "neither migrates" not in checks["wall"]["found"]


def test_the_doctor_says_what_a_worker_lacks(apart: Console, running: tuple[Instance, TwoRoles]) -> None:
    lacking = apart.doctor(part="worker", BIGMIND_REDIS_URL="")
    complete = apart.doctor(part="worker", BIGMIND_DATABASE_OWNER_URL=running[1].owner_url)

    assert "BIGMIND_DATABASE_OWNER_URL" in lacking["wall"]["advice"]
    assert "worker: BIGMIND_REDIS_URL is not set" in lacking["settings"]["found"]
    assert (complete["wall"]["status"], complete["settings"]["status"]) == ("ok", "ok")
    assert {complete[name]["status"] for name in ("web", "port", "processes", "sessions")} == {"skipped"}


def test_a_part_with_another_secret_key_says_so_and_does_not_serve(running, apart, tmp_path):
    variables = {"BIGMIND_DATABASE_URL": running[1].application_url, "BIGMIND_SECRET_KEY": "s" * 50}
    other = CopiedInstance(tmp_path / "other", **variables).launch()
    try:
        other.read_until("The database does not accept the BIGMIND_SECRET_KEY of this part.")
    finally:
        other.hurry()

    assert apart.doctor(part="web", BIGMIND_SECRET_KEY="s" * 50)["wall"]["status"] == "problem"


def test_the_doctor_says_that_web_has_no_use_for_the_owner(apart: Console, running: tuple[Instance, TwoRoles]) -> None:
    found = apart.doctor(part="web", BIGMIND_DATABASE_OWNER_URL=running[1].owner_url)["settings"]

    assert "web: BIGMIND_DATABASE_OWNER_URL is for worker and commands alone" in found["found"]


def test_a_text_is_removed_from_what_only_grows_and_the_files_of_the_tables_by_whoever_may(running, console, rest):
    instance, server = running
    secret, other = "sk-Depot-9931-gate", "sk-Ferry-4417-door"
    said = {
        "category": "standard",
        "title": "Gates",
        "content": f"The gate opens with {secret}, the door with {other}.",
    }
    rest.post("company/", json=said).raise_for_status()
    rest.post("facts/", json={"fact": f"{secret} and {other} open both.", "category": "decision"}).raise_for_status()
    browser = httpx.Client(base_url=instance.url, timeout=60, follow_redirects=True)
    link = re.search(r"/sign-in/[\w-]+/", instance.printed).group()
    _post(browser, link, {})

    looked = _post(browser, "/scrub/", {"text": secret, "why": "leaked", "where": "everywhere", "do": "preview"})
    done = _post(browser, "/scrub/", {"text": secret, "why": "leaked", "where": "everywhere", "do": "remove"})
    cleaned = console.command("scrub", "--why", "leaked", "--yes", "--vacuum", "--json", said=f"{other}\n")

    assert "It stands in" in looked.text
    assert "Removed from" in done.text
    assert json.loads(cleaned)["left"] == {}
    with server.as_owner() as owner:
        names = [name for (name,) in owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        rows = [str(row) for name in names for row in owner.execute(f'SELECT whole::text FROM "{name}" AS whole')]
    files = [path for path in server.data.glob("base/**/*") if path.is_file()]
    assert [row for row in rows if secret in row or other in row] == []
    assert len(files) > 100
    assert [path.name for path in files if secret.encode() in (raw := path.read_bytes()) or other.encode() in raw] == []
    assert "[removed" in "".join(rows)
    assert console.command("audit_verify")


def _post(browser: httpx.Client, path: str, fields: dict[str, str]) -> httpx.Response:
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(path).text).group(1)
    return browser.post(path, data={"csrfmiddlewaretoken": token, **fields}).raise_for_status()

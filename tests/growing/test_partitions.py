"""Partitions of passages and vectors by owner: everything answers as before, and nothing is lost on the way."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from threading import Event, Thread
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import Index
from pytest_django.plugin import DjangoDbBlocker

from accounts.actor import Actor
from accounts.models import User
from accounts.people.user_deletion import delete_user
from bigmind.backup.making import LOCK, make_backup
from bigmind.backup.restoring import restore_backup
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.partitioned import AddIndexToPartitions, RemoveIndexFromPartitions
from bigmind.embedded.database import hang_up
from bigmind.embedded.doctor_checks import Check, CheckStatus, database
from bigmind.environment.parts import PARTS
from bigmind.gate import perform
from bigmind.observability.system import largest_tables
from bigmind.operations import CATALOGUE
from knowledge import tasks
from knowledge.models import EmbeddingSpace, Fact, Kind, Note, Passage, PassageVector
from knowledge.search import indexes
from knowledge.search.indexes import keep_indexes, keep_statistics
from knowledge.search.partitions import leftovers, making, planning, tables
from knowledge.search.partitions.planning import change_partitions, plan_partitions
from knowledge.search.partitions.tables import PASSAGES, TABLES, count_partitions, leaves_of
from knowledge.services.embedding import embed_pending, start_again
from knowledge.services.entries import add_entry
from knowledge.services.facts import correct_fact, store_fact
from knowledge.services.index_gaps import find_gaps
from knowledge.services.near_duplicates import compare_with_stored
from tests.backup.conftest import TOPICS, on_database
from tests.backup.conftest import database as made_database
from tests.factories import make_actor
from tests.knowledge.factories import make_fact, make_note

pytestmark = pytest.mark.django_db(transaction=True)

Filled = tuple[Actor, str]
Template = tuple[str, int, str]
SEARCHES = ("kb_search", "search_knowledge", "memory_search_global", "memory_recall", "memory_semantic_search")
QUESTIONS = ["who checks the depot", "ferry at six", "turbine salt"]
FIRST = {f"{table}_owned_00" for table in TABLES}
# What a table is, besides its name: the order of columns, their defaults, all keys, indexes, triggers and rights.
_SCHEMA = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity, pg_get_expr(adbin, adrelid)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = '{0}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '{0}'::regclass ORDER BY 1;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '{0}'::regclass AND indisvalid ORDER BY 1;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = '{0}'::regclass AND NOT tgisinternal ORDER BY 1;
SELECT relkind::text, relacl::text, reloptions, pg_get_serial_sequence('{0}', 'id')
FROM pg_class WHERE oid = '{0}'::regclass
"""
_PARTS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull, attstorage::text, attcompression::text,
    pg_get_expr(adbin, adrelid)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = '{0}'::regclass AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT '', pg_get_constraintdef(oid), convalidated, '', '', '' FROM pg_constraint
WHERE conrelid = '{0}'::regclass
UNION ALL SELECT '', pg_get_indexdef(indexrelid), indisvalid, '', '', '' FROM pg_index JOIN pg_class ON oid = indexrelid
WHERE indrelid = '{0}'::regclass AND NOT starts_with(relname, 'knowledge_near_')
UNION ALL SELECT tgname, pg_get_triggerdef(oid), true, tgenabled::text, '', '' FROM pg_trigger
WHERE tgrelid = '{0}'::regclass AND NOT tgisinternal
UNION ALL SELECT polname, '', true, '', '', '' FROM pg_policy WHERE polrelid = '{0}'::regclass
"""


_BESIDE = """
SELECT (SELECT count(*) FROM pg_publication), count(*), count(*) FILTER (WHERE relrowsecurity) FROM pg_class
"""


@pytest.fixture(autouse=True)
def _in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "BATCH", 7)
    monkeypatch.setattr(making, "TOLD", 1)
    monkeypatch.setattr(tables, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(tables, "LONGEST_PAUSE", 0.5)


@pytest.fixture(scope="module")
def filled_once(filled_once: Template, django_db_blocker: DjangoDbBlocker) -> Iterator[Template]:
    """Add five people with a memory each, so that partitions have something in them."""
    template, *somebody = filled_once
    with django_db_blocker.unblock(), copied(f"bigmind_peopled_{os.getpid()}", template) as name:
        with on_database(name):
            for person in [make_actor() for _ in range(5)]:
                for topic in TOPICS[:5]:
                    make_fact(person, f"{person.user.username} paints the {topic} blue.")
                make_note(person, f"Where {person.user.username} parks.", key="parking")
            embed_all()
        yield name, *somebody


@pytest.fixture(scope="module")
def whole(filled_once: Template, django_db_blocker: DjangoDbBlocker) -> Iterator["Whole"]:
    whole = Whole(filled_once[0])
    yield whole
    with django_db_blocker.unblock():
        whole.drop()


@pytest.fixture
def filled(filled_once: Template, whole: "Whole", transactional_db: None) -> Iterator[Filled]:
    with whole.there():
        yield Actor.of(User.objects.get(pk=filled_once[1])), filled_once[2]


class Whole:
    """A copy with plain tables, which is made again only after a test that left anything in it."""

    def __init__(self, template: str) -> None:
        self._template, self._copy = template, ExitStack()
        self._name = ""

    @contextmanager
    def there(self) -> Iterator[None]:
        """Let everything go to it meanwhile."""
        self._name = self._name or self._copy.enter_context(copied(f"bigmind_whole_{os.getpid()}", self._template))
        with on_database(self._name):
            before, is_as_before = _state(), False
            try:
                yield
                is_as_before = _state() == before
            finally:
                if not is_as_before:
                    hang_up()
                    self.drop()

    def drop(self) -> None:
        self._copy.close()
        self._name = ""


@pytest.fixture(scope="module")
def divided_once(filled_once: Template, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A copy of it in four partitions, for all tests that change little."""
    with django_db_blocker.unblock(), copied(f"bigmind_divided_{os.getpid()}", filled_once[0]) as name:
        with on_database(name):
            change_partitions(4)
        yield name


@pytest.fixture
def divided(divided_once: str, filled_once: Template, transactional_db: None) -> Iterator[Actor]:
    with on_database(divided_once):
        yield Actor.of(User.objects.get(pk=filled_once[1]))


def copied(name: str, template: str) -> AbstractContextManager[str]:
    return made_database(name, f'TEMPLATE "{template}"')


def others() -> list[Actor]:
    return [Actor.of(note.user) for note in Note.objects.filter(key="parking").select_related("user").order_by("pk")]


def embed_all() -> None:
    while embed_pending():
        pass


def test_every_search_answers_the_same_in_partitions_and_in_plain_tables_again(filled: Filled) -> None:
    actors = [filled[0], others()[0]]
    before = _answers(actors)

    change_partitions(4)
    divided = _answers(actors)
    there = count_partitions()
    change_partitions(0)

    assert len(set(before.values())) > 2 * len(QUESTIONS)
    assert (there, count_partitions()) == (4, 0)
    assert divided == before
    assert _answers(actors) == before


def test_each_owner_is_in_one_partition_with_their_vectors_and_what_is_shared_is_apart(divided: Actor) -> None:
    where = {table: _rows(f"SELECT DISTINCT owner_id, tableoid::regclass::text FROM {table}") for table in TABLES}
    for table, found in where.items():
        places = dict(found)
        assert len(places) == len(found) > 6
        assert places.pop(None) == f"{table}_shared"
        assert {re.sub(r"\d\d$", "", place) for place in places.values()} == {f"{table}_owned_"}
    endings = [{owner: place[-2:] for owner, place in found} for found in where.values()]
    assert endings[0] == endings[1]


def test_a_partition_is_what_the_plain_table_was(filled_once: Template, divided: Actor) -> None:
    """Columns, keys, checks, indexes, triggers and policies of each; those of large scopes have a test of their own."""
    with on_database(filled_once[0]):
        before = {table: _parts_of(table) for table in TABLES}
        rights = _rights()

    for table in TABLES:
        for leaf in leaves_of(table):
            assert _parts_of(leaf) == before[table]
    assert rights == _rights()
    assert all(part in str(before) for part in ("USING gin", "CHECK", "FOREIGN KEY", "write_lexemes"))


def test_what_is_undone_is_what_was_there_before(filled: Filled) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE knowledge_passage SET (autovacuum_vacuum_scale_factor = 0.01)")
    before = _schema()

    change_partitions(3)
    divided = _schema()
    change_partitions(0)

    assert divided != before
    assert _schema() == before
    assert not plan_partitions(0).left_over


def test_what_is_written_during_the_copy_is_there_afterwards(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "BATCH", 15)
    actor, other = filled[0], others()[0]
    written: list[str] = []

    def write(text: str) -> None:
        """Add, change, delete and embed, between two steps."""
        rows = re.search(r"(\d+) rows copied", text)
        if rows and int(rows[1]) > 30:
            return
        fact = make_fact(actor, f"Written while it said {text}").fact
        written.append(fact)
        old = Fact.objects.filter(user=other.user, deprecated_at=None).order_by("?").first()
        assert old is not None
        correct_fact(other, fact_id=old.number, fact=f"Corrected {len(written)} while it said {text}")
        add_entry(actor, content=f"An entry {len(written)} from in between.", entry_type="fact")
        embed_pending()

    for wanted in (4, 0):
        change_partitions(wanted, tell=write)

        kept = set(Passage.objects.filter(owner=actor.user, kind=Kind.FACT).values_list("text", flat=True))
        assert len(written) > 8
        assert {*written} <= {text.split("\n")[-1] for text in kept}
        assert find_gaps() == []
        embed_all()
        assert not PassageVector.objects.filter(vector=None).exists()
        assert _mismatched() == 0


def test_nobody_who_writes_reads_or_leaves_meanwhile_is_refused_anything(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "BATCH", 500)
    actor, failures, stop, stored = filled[0], list[str](), Event(), list[int]()

    def go_on(step: Callable[[int], Any]) -> None:
        try:
            number = 0
            while not stop.is_set():
                number += 1
                step(number)
                stop.wait(0.2)  # Nobody writes all the time: transactions have gaps between them.
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody was refused something
            failures.append(repr(error))
        finally:
            connection.close()

    def write(number: int) -> None:
        stored.append(store_fact(actor, category="decision", fact=f"Number {number} of what was said.").fact.pk)

    def leave(number: int) -> None:
        guest = make_actor()
        make_fact(guest, f"Guest {number} was here.")
        delete_user(guest.user)

    def search(number: int) -> None:
        found = perform(CATALOGUE["memory_semantic_search"], actor, {"query": f"depot {number}"}, transport="rest")
        assert found

    threads = [Thread(target=go_on, args=[step]) for step in (write, leave, search, lambda _: embed_pending())]
    for thread in threads:
        thread.start()
    try:
        while len(stored) < 2 and not failures:  # It may be done before anybody has written twice.
            for wanted in (3, 0):
                change_partitions(wanted)
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    assert failures == []
    indexed = set(Passage.objects.filter(kind=Kind.FACT, owner=actor.user).values_list("source_id", flat=True))
    assert {str(number) for number in stored} <= indexed
    assert _mismatched() == 0
    assert set(Passage.objects.exclude(owner=None).values_list("owner", flat=True)) <= set(
        User.objects.values_list("pk", flat=True)
    )


@pytest.mark.parametrize("wanted", [2, 0])
def test_one_that_is_killed_anywhere_leaves_nothing_half_done(
    wanted: int, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "BATCH", 1_000)
    before, kept, step = 2 - wanted, list[str](), 0
    change_partitions(before)

    while count_partitions() == before:
        step += 1
        with monkeypatch.context() as patch:
            # What is killed clears nothing away behind itself; and before it begins there is nothing to clear.
            patch.setattr(planning, "finish", lambda: None)
            with pytest.raises(KeyboardInterrupt):
                change_partitions(wanted, tell=_stop_at(step))
        kept.append(make_fact(filled[0], f"Kept after step {step}.").fact)
        if count_partitions() == before:
            leftovers.finish()

    assert step > 6
    assert {"knowledge_passage_old", "knowledge_passagevector_old"} <= {*plan_partitions(wanted).left_over}
    assert change_partitions(wanted).changed is False
    assert not plan_partitions(wanted).left_over
    assert Passage.objects.filter(text__in=kept).count() == len(kept)
    assert not _rows("SELECT conname FROM pg_constraint WHERE NOT convalidated")
    assert _mismatched() == 0


def _stop_at(step: int) -> Callable[[str], None]:
    steps: list[str] = []

    def tell(text: str) -> None:
        steps.append(text)
        if len(steps) == step:
            raise KeyboardInterrupt

    return tell


def test_a_run_that_meets_what_a_killed_one_left_begins_anew(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(planning, "finish", lambda: None)
        patch.setattr(making.Move, "_compare", _kill)
        with pytest.raises(KeyboardInterrupt):
            change_partitions(3)
    left = plan_partitions(3).left_over
    make_fact(filled[0], "Between two runs.")

    done = change_partitions(3)

    assert "knowledge_passage_new" in left
    assert done.changed
    assert not plan_partitions(3).left_over
    assert Passage.objects.filter(text__endswith="Between two runs.").exists()


def test_what_a_killed_run_left_is_told_by_doctor_and_cleared_by_a_worker(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(planning, "finish", lambda: None)
        patch.setattr(making.Move, "_compare", _kill)
        with pytest.raises(KeyboardInterrupt):
            change_partitions(3)
    told = _of_partitions()
    tasks.keep_indexes()

    assert told.status == CheckStatus.WARNING
    assert "knowledge_passage_new" in told.found
    assert not plan_partitions(0).left_over
    assert not _rows("SELECT relname FROM pg_class WHERE 'autovacuum_enabled=false' = ANY(reloptions)")
    assert _of_partitions() == Check("partitions", CheckStatus.OK, "none")


def test_one_that_is_at_work_is_no_reason_for_doctor_to_warn(filled: Filled) -> None:
    told: list[Check] = []

    with closing(connection.copy()) as other:

        def look(text: str) -> None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(leftovers, "connection", other)
                told.append(_of_partitions())

        change_partitions(3, tell=look)

    assert {one.status for one in told} == {CheckStatus.OK}
    assert _of_partitions().found.startswith("3 by owner")


def test_what_a_migration_changes_meanwhile_is_not_lost(filled: Filled) -> None:
    changes = [
        "ALTER TABLE knowledge_passage ADD COLUMN trial integer",
        "CREATE INDEX passage_trial ON knowledge_passagevector (kind)",
        "ALTER TABLE knowledge_passage ADD CONSTRAINT trial CHECK (ordinal >= 0)",
    ]

    def migrate(text: str) -> None:
        if text.startswith("Putting"):
            with connection.cursor() as cursor:
                cursor.execute(waiting.pop())

    waiting = [*changes]
    for _ in changes:
        with pytest.raises(Conflict, match="changed meanwhile"):
            change_partitions(3, tell=migrate)
    changed = _schema()
    change_partitions(3)
    change_partitions(0)

    assert not plan_partitions(0).left_over
    assert str(changed).count("trial") == len(changes)
    assert _schema() == changed


def test_tables_that_differ_are_not_put_in_place(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_a_row(move: Any) -> None:
        move._do("DELETE FROM knowledge_passage_new WHERE id = (SELECT max(id) FROM knowledge_passage_new)")

    monkeypatch.setattr(making.Move, "_make_near_indexes", lose_a_row)

    with pytest.raises(Conflict, match="not what the old one is"):
        change_partitions(3)

    assert count_partitions() == 0
    assert not plan_partitions(3).left_over


def test_what_must_be_unique_is_so_in_partitions(divided: Actor) -> None:
    vector = PassageVector.objects.select_related("passage").exclude(owner=None).first()
    assert vector is not None
    passage = vector.passage

    for row in (
        Passage(kind=passage.kind, source_id=passage.source_id, owner=passage.owner, ordinal=0, text="", digest=""),
        PassageVector(passage=passage, space=vector.space, owner=passage.owner),
        PassageVector(passage_id=0, space=vector.space, owner=passage.owner),
    ):
        with pytest.raises(IntegrityError):
            row.save(force_insert=True)


def test_the_words_of_a_passage_are_written_and_all_vectors_can_be_made_again(divided: Actor) -> None:
    fact = make_fact(divided, "The weathervane points north.")
    passage = Passage.objects.get(kind=Kind.FACT, source_id=str(fact.pk))
    start_again(batch_size=100, clear_cache=True)
    embed_all()

    assert "weathervane" in str(passage.lexemes)
    assert passage.pk > max(Passage.objects.exclude(pk=passage.pk).values_list("pk", flat=True))
    assert not PassageVector.objects.filter(vector=None).exists()
    assert find_gaps() == []


def test_a_user_who_is_deleted_leaves_nothing_in_any_partition(divided: Actor) -> None:
    guest = make_actor()
    for topic in TOPICS:
        make_fact(guest, f"Whose {topic} is it?")
    embed_all()
    whose = guest.user.pk
    before = [model.objects.filter(owner=whose).count() for model in (Passage, PassageVector)]

    delete_user(guest.user)

    assert before == [len(TOPICS)] * 2
    assert not Passage.objects.filter(owner=whose).exists()
    assert not PassageVector.objects.filter(owner=whose).exists()
    assert Passage.objects.filter(owner=others()[1].user).exists()


def test_a_search_reads_the_partition_of_who_asks_and_the_shared_one_alone(divided: Actor) -> None:
    actor = divided
    own = {_partition_of(table, actor.user) for table in TABLES}
    shared = {f"{table}_shared" for table in TABLES}

    private = _partitions_read(lambda: _ask("memory_semantic_search", actor, "who checks the depot yesterday"))
    listed = _partitions_read(lambda: _ask("kb_search", actor, "a depot needs people"))
    with transaction.atomic():
        compared = _partitions_read(
            lambda: compare_with_stored(
                "The depot is checked on Mondays.",
                owner=actor.user,
                among={Kind.FACT: Fact.objects.of(actor.user)},
                fields={Kind.FACT: "fact"},
            )
        )

    assert own <= private <= own | shared
    assert shared <= listed <= own | shared
    assert own <= compared <= own | shared


def test_indexes_of_large_scopes_are_carried_over_and_kept_on_their_partition(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "LARGE", 5)
    made = set(keep_indexes())
    space = EmbeddingSpace.objects.get()

    change_partitions(4)
    carried = dict(_rows("SELECT indexname, tablename FROM pg_indexes WHERE indexname LIKE 'knowledge\\_near%'"))
    places = {name: _leaf_of_index(name) for name in made}
    again = keep_indexes()
    indexes.drop_indexes(space)
    rebuilt = set(keep_indexes())
    change_partitions(0)

    assert len(made) > 3
    assert carried == places
    assert again == []
    assert rebuilt == made
    back = dict(_rows("SELECT indexname, tablename FROM pg_indexes WHERE indexname LIKE 'knowledge\\_near%'"))
    assert back == dict.fromkeys(made, "knowledge_passagevector")


def test_statistics_are_those_of_the_whole_table(divided: Actor) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
    for number in range(30):
        make_fact(divided, f"Fact {number} of many.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")

    shown = {one.name for one in largest_tables()}
    assert "knowledge_passage" in shown
    assert not {name for table in TABLES for name in leaves_of(table)} & shown
    assert not [name for name in keep_statistics() if re.search(r"_(shared|owned)", name)]


def test_a_backup_of_partitions_restores_as_partitions(divided: Actor, fresh: str, tmp_path: Any) -> None:
    actor = divided
    before, schema = _answers([actor]), _schema()
    backup = make_backup(tmp_path)

    with on_database(fresh):
        restore_backup(backup.folder)

        assert count_partitions() == 4
        assert [[row[0] for row in rows] for rows in _schema()] == [[row[0] for row in rows] for rows in schema]
        assert _answers([Actor.of(User.objects.get(pk=actor.user.pk))]) == before
        change_partitions(0)
        assert _answers([Actor.of(User.objects.get(pk=actor.user.pk))]) == before


def test_the_command_tells_what_would_happen_and_changes_nothing_by_that(filled: Filled, capsys: Any) -> None:
    before = _schema()

    call_command("partition", "--dry-run", "--json")
    plan = json.loads(capsys.readouterr().out)

    assert _schema() == before
    assert (plan["partitions"], plan["wanted"], plan["refusals"]) == (0, 16, [])
    assert [one["table"] for one in plan["tables"]] == list(TABLES)
    assert plan["needs_bytes"] == sum(one["bytes"] for one in plan["tables"]) > 0


def test_the_command_divides_refuses_another_number_and_undoes(filled: Filled, capsys: Any) -> None:
    with pytest.raises(CommandError, match="There is no terminal to ask on"):
        call_command("partition")
    call_command("partition", "--partitions", "2", "--yes")
    call_command("partition", "--partitions", "2", "--yes")
    told = capsys.readouterr().out
    with pytest.raises(CommandError, match="make the tables whole first"):
        call_command("partition", "--partitions", "4", "--yes")
    call_command("partition", "--undo")

    assert "Everybody waited for" in told
    assert "Nothing to do: 2 partitions by owner" in told
    assert count_partitions() == 0


def test_what_it_could_not_carry_over_is_refused(filled: Filled) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE knowledge_passage ENABLE ROW LEVEL SECURITY")
        cursor.execute("CREATE TABLE bookmark (passage_id bigint REFERENCES knowledge_passage)")
        cursor.execute("CREATE VIEW report AS SELECT kind, count(*) FROM knowledge_passagevector GROUP BY kind")
        cursor.execute("CREATE PUBLICATION warehouse FOR TABLE knowledge_passage")

    with pytest.raises(Conflict, match=r"policies.*bookmark refers to.*report refers to.*publication warehouse do not"):
        change_partitions(3)
    with pytest.raises(Invalid):
        plan_partitions(1)
    assert plan_partitions(3, free_bytes=1).refusals[-1].startswith("The disk of the database has 1 bytes free")


@pytest.mark.parametrize("wanted", [3, 0])
def test_a_migration_makes_and_removes_an_index_in_both_shapes(wanted: int, filled: Filled) -> None:
    change_partitions(wanted)
    leaves, without = leaves_of(PASSAGES), MigrationLoader(connection).project_state()
    added = AddIndexToPartitions("passage", Index(fields=["digest"], name="passage_trial"))
    having = without.clone()
    added.state_forwards("knowledge", having)
    removed = RemoveIndexFromPartitions("passage", "passage_trial")

    with connection.schema_editor(atomic=False) as editor:
        added.database_forwards("knowledge", editor, without, having)
    made = _indexed_by("passage_trial")
    with connection.schema_editor(atomic=False) as editor:
        removed.database_forwards("knowledge", editor, having, without)
    gone = _indexed_by("passage_trial")
    with connection.schema_editor(atomic=False) as editor:
        removed.database_backwards("knowledge", editor, without, having)
    again = _indexed_by("passage_trial")
    change_partitions(0)
    undone = _indexed_by("passage_trial")
    with connection.schema_editor(atomic=False) as editor:
        added.database_backwards("knowledge", editor, having, without)

    assert made == again == {leaf: "passage_trial" + leaf.removeprefix(PASSAGES) for leaf in leaves}
    assert (gone, undone, _indexed_by("passage_trial")) == ({}, {PASSAGES: "passage_trial"}, {})


def test_who_holds_the_tables_is_waited_for_and_others_pass(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PATIENCE_SECONDS", 0.5)
    with closing(connection.copy()) as holder:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("LOCK TABLE knowledge_passage IN ROW EXCLUSIVE MODE")

        with pytest.raises(Conflict, match="stayed in use"):
            change_partitions(3)

    assert count_partitions() == 0
    assert change_partitions(3).changed
    assert not plan_partitions(3).left_over


def test_a_backup_that_is_being_made_is_waited_for(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PATIENCE_SECONDS", 0.5)
    with closing(connection.copy()) as holder, holder.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", LOCK)

        with pytest.raises(Conflict, match="stayed in use"):
            change_partitions(3)

    assert change_partitions(3).changed


def _kill(move: Any) -> None:
    raise KeyboardInterrupt


def _ask(name: str, actor: Actor, question: str) -> Any:
    return perform(CATALOGUE[name], actor, {"query": question}, transport="rest")


def _answers(actors: list[Actor]) -> dict[tuple[Any, str, str], str]:
    """What each search answers each of them, as text; nothing is kept of their having asked."""
    found = {}
    for actor in actors:
        for name in SEARCHES:
            for question in QUESTIONS:
                with transaction.atomic():
                    found[actor.user.pk, name, question] = json.dumps(_ask(name, actor, question).to_data())
                    transaction.set_rollback(True)
    return found


def _rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _indexed_by(prefix: str) -> dict[str, str]:
    return dict(_rows(f"SELECT tablename, indexname FROM pg_indexes WHERE starts_with(indexname, '{prefix}')"))


def _state() -> list[Any]:
    """What a test may have left: another schema, other things beside the tables, rows."""
    rows = [
        _rows(f"SELECT count(*), max(id::text) FROM {table}") for table in (*TABLES, "knowledge_fact", "accounts_user")
    ]
    return [_schema(), rows, _rows(_BESIDE)]


def _schema() -> list[list[tuple[Any, ...]]]:
    return [_rows(query) for table in TABLES for query in _SCHEMA.format(table).split(";")]


def _parts_of(table: str) -> list[tuple[Any, ...]]:
    """What belongs to a table or a partition, without the names that say which one it is."""
    end = re.sub("^knowledge_passage(vector)?", "", table)
    rows = _rows(_PARTS.format(table))
    return sorted(tuple(re.sub(rf"{end}\b" if end else "^$", "", str(one)) for one in row) for row in rows)


def _rights() -> list[tuple[Any, ...]]:
    return _rows(f"SELECT relname, relacl::text, relrowsecurity FROM pg_class WHERE relname IN {TABLES} ORDER BY 1")


def _of_partitions() -> Check:
    (told,) = [check for check in database(PARTS) if check.name == "partitions"]
    return told


def _mismatched() -> int:
    """How many vectors are of no passage, or of one of somebody else, and how many passages are there twice."""
    (one,) = _rows("""
        SELECT (SELECT count(*) FROM knowledge_passagevector AS vector LEFT JOIN knowledge_passage AS passage
            ON passage.id = vector.passage_id WHERE vector.owner_id IS DISTINCT FROM passage.owner_id)
        + (SELECT count(*) FROM (SELECT 1 FROM knowledge_passage GROUP BY kind, source_id, ordinal
            HAVING count(*) > 1) AS twice)
        + (SELECT count(*) FROM (SELECT 1 FROM knowledge_passage GROUP BY id HAVING count(*) > 1) AS twice)
    """)
    return int(one[0])


def _partition_of(table: str, user: User) -> str:
    ((name,),) = _rows(f"SELECT DISTINCT tableoid::regclass::text FROM {table} WHERE owner_id = '{user.pk}'")
    return str(name)


def _leaf_of_index(name: str) -> str:
    scope = name.rpartition("_")[2]
    if scope == "shared":
        return "knowledge_passagevector_shared"
    return _partition_of("knowledge_passagevector", User.objects.get(pk=scope))


def _partitions_read(do: Callable[[], Any]) -> set[str]:
    """Do something; return which partitions the plans of its statements about passages and vectors read."""
    read: set[str] = set()
    is_busy = False

    def explain(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal is_busy
        if not is_busy and "knowledge_passage" in sql and re.match(r"\s*\(?(SELECT|WITH)", sql):
            is_busy = True
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
                told = json.dumps(cursor.fetchone()[0])
            is_busy = False
            found = set(re.findall(r"knowledge_passage(?:vector)?_(?:shared|owned_\d\d)(?=\")", told))
            # Asked for both in one, PostgreSQL also looks where the hash of NULL would be.
            read.update(found - FIRST if re.search(r"owner_id\"? (= .{1,8}|IS NULL) OR|OR .*owner_id", sql) else found)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        do()
    return read

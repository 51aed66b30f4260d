"""Migrations let the version before them serve on: nobody waits for a lock, and nothing they read is gone."""

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader

from tests.growing.migrations import ALLOWED, new_migrations, sql_of, troubles_of


@pytest.mark.django_db(transaction=True)  # An index cannot be made CONCURRENTLY inside one.
def test_no_new_migration_would_be_noticed_by_those_who_are_served() -> None:
    loader = MigrationLoader(connection, replace_migrations=False)
    found = {
        str(one): list(troubles_of(one, sql_of(loader, one))) for one in new_migrations() if str(one) not in ALLOWED
    }

    assert {name: troubles for name, troubles in found.items() if troubles} == {}


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE INDEX "of_owner" ON "knowledge_fact" ("user_id")',
        "CREATE UNIQUE INDEX of_owner ON knowledge_fact (user_id) WHERE deprecated_at IS NULL",
        'ALTER TABLE "knowledge_fact" ADD COLUMN "mood" varchar(20) NOT NULL',
        'ALTER TABLE "knowledge_fact" ALTER COLUMN "mood" DROP DEFAULT',
        'ALTER TABLE "knowledge_fact" ALTER COLUMN "confidence" TYPE numeric USING "confidence"::numeric',
        'ALTER TABLE "knowledge_fact" DROP COLUMN "category" CASCADE',
        'ALTER TABLE "knowledge_fact" RENAME COLUMN "fact" TO "text"',
        'ALTER TABLE "knowledge_fact" RENAME TO "knowledge_truth"',
        'DROP TABLE "knowledge_fact" CASCADE',
        'ALTER TABLE "knowledge_fact" ALTER COLUMN "project" SET NOT NULL',
        'ALTER TABLE "knowledge_fact" ADD CONSTRAINT "sure" CHECK ("confidence" > 0)',
        'ALTER TABLE "knowledge_fact" ADD CONSTRAINT "one" UNIQUE ("digest")',
        'ALTER TABLE "knowledge_fact" ADD CONSTRAINT "of" FOREIGN KEY ("user_id") REFERENCES "accounts_user" ("id")',
    ],
)
def test_what_would_be_noticed_is_refused(statement: str) -> None:
    assert list(troubles_of(_migration(), [statement]))


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE TABLE "knowledge_mood" ("id" bigint NOT NULL)',
        'CREATE INDEX CONCURRENTLY "of_owner" ON "knowledge_fact" ("user_id")',
        'ALTER TABLE "knowledge_fact" ADD COLUMN "mood" varchar(20) NULL',
        'ALTER TABLE "knowledge_fact" ADD COLUMN "mood" varchar(20) DEFAULT \'\' NOT NULL',
        'ALTER TABLE "knowledge_fact" ADD CONSTRAINT "sure" CHECK ("confidence" > 0) NOT VALID',
        'ALTER TABLE "knowledge_fact" VALIDATE CONSTRAINT "sure"',
        'ALTER TABLE "knowledge_fact" ADD CONSTRAINT "one" UNIQUE USING INDEX "one_index"',
    ],
)
def test_what_nobody_notices_is_let_through(statement: str) -> None:
    assert list(troubles_of(_migration(), [statement])) == []


def test_a_table_that_the_migration_makes_itself_may_be_changed_as_it_likes() -> None:
    made = [
        'CREATE TABLE "knowledge_mood" ("id" bigint NOT NULL)',
        'CREATE INDEX "mood_of" ON "knowledge_mood" ("id")',
        'ALTER TABLE "knowledge_mood" ADD CONSTRAINT "one" UNIQUE ("id")',
    ]

    assert list(troubles_of(_migration(), made)) == []


def test_tables_that_there_are_must_be_changed_last() -> None:
    """They are held until the migration ends."""
    make = 'CREATE TABLE "knowledge_mood" ("id" bigint NOT NULL)'
    change = 'ALTER TABLE "knowledge_fact" ADD COLUMN "mood" varchar(20) NULL'

    assert len(list(troubles_of(_migration(), [change, make]))) == 1
    assert list(troubles_of(_migration(), [make, change])) == []


def test_what_cannot_be_taken_back_is_refused() -> None:
    one_way = [migrations.RunSQL("SELECT 1"), migrations.RunPython(lambda *_: None)]

    assert len(list(troubles_of(_migration(*one_way), []))) == 2


@pytest.mark.django_db
def test_the_rules_read_what_django_would_run() -> None:
    loader = MigrationLoader(connection, replace_migrations=False)
    added = migrations.AddField("fact", "mood", models.CharField(max_length=20, default=""))
    migration = _migration(added)
    state = loader.project_state(loader.graph.leaf_nodes("knowledge"))

    with connection.schema_editor(collect_sql=True, atomic=False) as editor:
        migration.apply(state, editor, collect_sql=True)
    troubles = list(troubles_of(migration, editor.collected_sql))

    assert any("DROP DEFAULT" in trouble for trouble in troubles)


def _migration(*operations: object) -> migrations.Migration:
    migration = migrations.Migration("9999_trial", "knowledge")
    migration.operations = list(operations)
    return migration

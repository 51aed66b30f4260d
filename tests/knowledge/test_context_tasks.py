"""What a start tells of what the tasks of the benchmark need."""

from dataclasses import replace

import pytest

from benchmarks.context.people import read_people
from benchmarks.context.told import outcomes_of, share

pytestmark = pytest.mark.django_db


def test_a_start_tells_what_its_task_needs():
    people = read_people()

    outcomes = [one for person in people for one in outcomes_of(replace(person, tasks=person.tasks[::3]), people)]

    assert share(outcomes) >= 0.85


def test_every_line_that_a_task_needs_is_stored():
    people = read_people()

    stored = {person.name: {line.key for line in person.lines} for person in people}

    assert sum(len(person.tasks) for person in people) >= 60
    assert {person.half for person in people} == {"a", "b"}
    assert all(set(task.needs) <= stored[person.name] for person in people for task in person.tasks)
    assert all(task.project in person.projects for person in people for task in person.tasks)

"""The tasks that people do most: the ways that docs/everyday-tasks.md names lead there, in three steps at most."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visits
from tests.browser.fernwood import make_fernwood

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = Path(__file__).parents[2] / "docs" / "everyday-tasks.md"
MOST_STEPS = 3
CHOSEN = "a, button, summary"


@dataclass(frozen=True)
class Task:
    """One line of the page: what somebody wants, how they get there, and what they see then."""

    name: str
    steps: list[str]
    seen: str
    as_curator: bool


def _tasks() -> list[Task]:
    sections = PAGE.read_text().split("\n## ")[1:]
    rows = [(title, row) for title, *rows in map(str.splitlines, sections) for row in rows if row.startswith("| ")]
    cells = [(title, [cell.strip() for cell in row.strip("|").split("|")]) for title, row in rows]
    return [
        Task(name, steps.split(" → "), seen, as_curator=title == "As a curator")
        for title, (name, steps, seen) in cells
        if name != "Task"
    ]


def _take(page: Page, step: str) -> None:
    what = re.fullmatch(r"Press `(.+)`|Type “(.+)”|Choose “(.+)”", step)
    assert what, step
    key, typed, chosen = what.groups()
    if key:
        page.keyboard.press(key)
    elif typed:
        page.keyboard.type(typed)
        words = typed.removeprefix(">")
        # What is found stands there a moment after the last letter.
        found = page.get_by_role("option").filter(has_not_text="Search everything")
        expect(found.filter(has_text=re.compile(words, re.I)).first).to_be_visible()
    else:
        _choose(page, chosen)


def _choose(page: Page, name: str) -> None:
    begins = rf"^\W*{re.escape(name)}"
    choices = page.locator(CHOSEN).filter(visible=True)
    exact = choices.filter(has_text=re.compile(rf"{begins}\W*$"))
    named = choices.filter(has_text=re.compile(begins)).or_(choices.and_(page.get_by_label(name)))
    one = (exact if exact.count() else named).first
    if one.evaluate("one => one.matches('a')"):
        # What is pressed next is meant for the page that comes.
        with page.expect_navigation():
            one.click()
    else:
        one.click()


def test_each_is_done_in_three_steps(visits: Visits, settings: Any) -> None:
    settings.BIGMIND_MODE = "team"
    cache.clear()
    fernwood = make_fernwood()
    pages = {False: visits.by(fernwood["priya"]), True: visits.by(fernwood["jonas"])}
    tasks = _tasks()
    assert len(tasks) >= 25

    lost = []
    for task in tasks:
        page = pages[task.as_curator]
        page.goto(reverse("home"))
        try:
            shown = page.locator("main").get_by_text(task.seen).filter(visible=True)
            for step in task.steps:
                # What the page before shows, too, is not yet where the step leads.
                shown.evaluate_all("all => all.forEach(one => (one.dataset.before = ''))")
                _take(page, step)
            expect(shown.and_(page.locator(":not([data-before])")).first).to_be_visible()
        except (AssertionError, PlaywrightError) as error:
            lost.append(f"{task.name}: {str(error).splitlines()[0]} ({page.url})")

    assert not lost, "\n".join(lost)
    assert [task.name for task in tasks if len(task.steps) > MOST_STEPS] == []

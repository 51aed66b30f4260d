"""The menus of rows, measured: a control belongs to its row, and a menu to its control."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from accounts.keys import create_key
from tests.browser.axe import HEIGHT, SCHEMES, WIDTHS
from tests.browser.conftest import Visits
from tests.factories import make_actor, make_agent
from tests.knowledge.factories import make_chunk, make_fact, make_hypothesis, make_note, make_session

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NEAR_PX = 40
"""How far from its control a menu may open."""

_CONTROLS = ".item > .actions"
# Boxes as they are drawn: of the control, its row, the texts beside it, and of the menu once it is open.
_MEASURE = """
(control) => {
  const box = (element) => element.getBoundingClientRect().toJSON();
  const button = control.querySelector('summary') ?? control;
  const menu = control.querySelector('ul');
  control.open = true;
  const texts = [...control.parentElement.children].filter((child) => child !== control);
  const row = box(control.parentElement);
  const measured = {row, button: box(button), menu: menu && box(menu), texts: texts.map(box)};
  control.open = false;
  return measured;
}
"""


def test_each_menu_of_a_row_stands_in_its_row_and_opens_at_its_button(visits: Visits) -> None:
    addresses, page = _pages_with_rows(visits)

    wrong = [f"{place}: {fault}" for place, boxes in _measured(page, addresses) for fault in _faults(boxes)]

    assert wrong == []


def _pages_with_rows(visits: Visits) -> tuple[list[str], Page]:
    actor = make_actor(admin=True)
    agent = make_agent(actor.user, "claude-code")
    session = make_session(agent, is_open=True, project="atlas")
    for number in range(3):
        words = "It takes two lines on a phone, and there it is the first thing that one reads. " * (number + 1)
        make_session(agent, one_liner=f"Session {number}")
        make_chunk(agent, session=session, content=words, flag_reason="Decided")
        make_fact(agent, f"Fact {number}. {words}", project="atlas", source_session=session.handle)
        make_note(actor, words, domain="builds", key=f"key-{number}")
        make_hypothesis(actor, f"Belief {number}. {words}")
    create_key(actor.user)
    names = ("memory-facts", "memory-sessions", "memory-notes", "memory-hypotheses")
    addresses = [
        *map(reverse, names),
        reverse("memory-session", args=[session.pk]),
        reverse("person", args=[actor.user.pk]),
    ]
    return addresses, visits.by(actor.user)


def _measured(page: Page, addresses: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for address in addresses:
        page.goto(address)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            controls = page.locator(_CONTROLS).all()
            assert controls, f"{address} has no row with actions"
            for number, control in enumerate(controls):
                yield f"{address} ({width} px), row {number + 1}", control.evaluate(_MEASURE)
            _photograph(page, f"{address.strip('/').replace('/', '-')}-{width}")


def _photograph(page: Page, name: str) -> None:
    """Keep pictures of the first menu, open, for whoever wants to look: PICTURES names the folder."""
    folder = os.environ.get("PICTURES")
    if not folder:
        return
    page.locator(_CONTROLS).first.evaluate("(control) => (control.open = true)")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.locator(_CONTROLS).first.scroll_into_view_if_needed()
        page.screenshot(path=Path(folder) / f"{name}-{scheme}.png")


def _faults(boxes: dict[str, Any]) -> Iterator[str]:
    row, button, menu = boxes["row"], boxes["button"], boxes["menu"]
    # A quiet button may stand a little over the edge of its column, so that its word is in line with the text.
    if button["top"] < row["top"] or button["bottom"] > row["bottom"] + 1 or button["right"] > row["right"] + 1:
        yield f"the control {button} stands outside its row {row}"
    if any(_overlap(button, text) for text in boxes["texts"]):
        yield f"the control {button} covers what the row says"
    if menu and (far := _distance(button, menu)) > NEAR_PX:
        yield f"the menu opens {far:.0f} px from its control"


def _distance(button: dict[str, float], menu: dict[str, float]) -> float:
    """The larger of how far the menu is below its button and how far their nearer edges are apart sideways."""
    below = abs(menu["top"] - button["bottom"])
    aside = min(abs(menu["left"] - button["left"]), abs(menu["right"] - button["right"]))
    return max(below, aside)


def _overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    along = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across > 1 and along > 1

"""Commands of Python programs: click, argparse and Django's management commands, walked as objects."""

import argparse

import click
import pytest

from bigmind.core.errors import Invalid
from knowledge.references.readers.python.commands import (
    generate_from_argparse,
    generate_from_click,
    generate_from_django,
    import_object,
)


@click.group()
def shop():
    """Keep a shop running.

    All of it.
    """


@shop.group()
def orders():
    """Orders of customers."""


@orders.command("list")
@click.argument("customer")
@click.argument("days", type=int, required=False)
@click.option("-f", "--format", "form", type=click.Choice(["table", "json"]), default="table", help="How it is shown.")
@click.option("--open/--closed", default=True, help="Which.")
@click.option("--token", required=True)
@click.option("--internal", hidden=True)
def list_orders(**_):
    """List the orders of a customer."""


@shop.command(hidden=True)
def secret():
    """Nobody's business."""


def by_name(made):
    return {draft.name: draft for draft in made.drafts}


def test_a_click_tree_is_walked_to_its_leaves():
    found = by_name(generate_from_click(shop, program="shop"))

    assert set(found) == {"shop", "shop orders", "shop orders list"}
    assert found["shop orders"].command.is_group
    assert found["shop"].summary == "Keep a shop running."


def test_click_options_and_arguments_come_with_what_they_take():
    command = by_name(generate_from_click(shop, program="shop"))["shop orders list"].command

    assert command.syntax == "shop orders list [OPTIONS] CUSTOMER [DAYS]"
    assert [(each.name, each.required) for each in command.arguments] == [("CUSTOMER", True), ("DAYS", False)]
    options = {each.name: each for each in command.options}
    assert set(options) == {"--format", "--open", "--token"}
    assert (options["--format"].short, options["--format"].default) == ("-f", "table")
    assert options["--format"].values == ("table", "json")
    assert options["--token"].required


def vault() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("vault", description="Keep secrets.", epilog="examples:\n  vault open a.key")
    members = parser.add_subparsers(required=True)
    opened = members.add_parser("open", aliases=["o"], help="Open it", description="Open the vault. Slowly.")
    opened.add_argument("key", help="the key")
    opened.add_argument("others", nargs="*")
    opened.add_argument("-l", "--level", choices=["low", "high"], default="low", help="how loud (%(default)s)")
    opened.add_argument("--hidden", help=argparse.SUPPRESS)
    return parser


def test_an_argparse_tree_is_walked_with_its_aliases():
    found = by_name(generate_from_argparse(vault))

    assert set(found) == {"vault", "vault open"}
    assert found["vault open"].aliases == ("vault o",)
    assert found["vault open"].summary == "Open it"
    assert found["vault open"].command.syntax == "vault open [-h] [-l {low,high}] key [others ...]"
    assert [example.code for example in found["vault"].examples] == ["vault open a.key"]


def test_argparse_options_come_with_what_they_take():
    command = by_name(generate_from_argparse(vault()))["vault open"].command

    level = next(each for each in command.options if each.name == "--level")
    assert (level.short, level.values, level.default, level.description) == (
        "-l",
        ("low", "high"),
        "low",
        "how loud (low)",
    )
    assert [(each.name, each.required) for each in command.arguments] == [("key", True), ("others...", False)]
    assert "--hidden" not in {each.name for each in command.options}


def test_bigminds_own_commands_are_all_there():
    made = generate_from_django("bigmind", apps=["bigmind"])

    found = by_name(made)
    assert {"bigmind up", "bigmind connect", "bigmind key_create", "bigmind doctor"} <= set(found)
    assert made.problems == ()
    assert "--dry-run" in {each.name for each in found["bigmind connect"].command.options}
    assert found["bigmind connect"].examples[0].code == "bigmind connect claude-code"
    assert found["bigmind connect"].source == "bigmind.management.commands.connect"


def test_the_commands_of_all_apps_include_djangos_own():
    found = by_name(generate_from_django())

    assert {"manage.py migrate", "manage.py createsuperuser", "manage.py up"} <= set(found)
    assert "--settings" not in {each.name for each in found["manage.py migrate"].command.options}


def test_an_object_is_found_by_its_name():
    assert import_object("knowledge.references.readers.python.commands:generate_from_click") is generate_from_click


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nothing", "does not name an object"),
        ("no_such_module_here:main", "cannot be imported"),
        ("argparse:no_such_name", "has no `no_such_name`"),
    ],
)
def test_a_name_of_nothing_is_refused_with_what_to_give(path, says):
    with pytest.raises(Invalid, match=says) as refusal:
        import_object(path)

    assert "package.module:name" in refusal.value.hint


@pytest.mark.parametrize("generate", [generate_from_click, generate_from_argparse])
def test_an_object_of_another_kind_is_refused(generate):
    with pytest.raises(Invalid):
        generate(dict)

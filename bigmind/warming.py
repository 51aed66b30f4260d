"""What the first calls of a process would load: it is loaded before the process says that it is ready."""

from django.template import engines
from django.urls import get_resolver

from bigmind.core.load_once import load_once
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.tools import tool_of
from knowledge.truth.near_duplicates import load_models


@load_once
def load_ahead() -> None:
    """Load what is slow to load and needs no database. Copies of a process that did so share the memory."""
    load_models()
    engines.all()  # They import the tags of all templates.
    get_resolver()._populate()
    for operation in CATALOGUE.values():
        if operation.is_listed_in({"core"}):
            tool_of(operation)

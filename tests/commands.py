"""Runs commands within the process of the tests."""

from io import StringIO
from typing import Any

from django.core.management import call_command


def run(command: str, *arguments: str, **options: Any) -> str:
    """Run a command and return what a script would read."""
    output = StringIO()
    call_command(command, *arguments, stdout=output, stderr=StringIO(), **options)
    return output.getvalue()

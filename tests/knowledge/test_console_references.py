"""From the code of a console to what an agent asks: generated, imported twice, looked up."""

from pathlib import Path

import pytest

from knowledge.references.editing import get_command
from knowledge.references.imports import import_references
from knowledge.references.readers.console.typescript import generate_from_typescript

CONSOLE = Path(__file__).parent / "consoles" / "OperatorConsole.tsx"


@pytest.mark.django_db
def test_a_command_of_a_console_is_found_by_its_other_spelling_and_an_invented_one_is_not(curator):
    drafts = generate_from_typescript(CONSOLE.read_text(), CONSOLE.name).drafts
    import_references(curator, collection="quay", drafts=drafts, source=CONSOLE.name)

    booked = get_command(curator, command="quay moorings book")
    invented = get_command(curator, command="quay list-berths")

    assert booked.reference is not None
    assert booked.reference.name == "quay berths assign"
    assert invented.reference is None
    assert invented.did_you_mean

"""docs/recipes.md, executed in order: each command prints what the page shows below it."""

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from accounts.people.first_run import first_run
from knowledge.indexing.embedding import embed_pending
from tests.first_conversation import missing_from

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text()


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_every_recipe_does_what_it_says() -> None:
    first_run("ada")
    titles = re.findall(r"^## \d+\. ", PAGE, re.MULTILINE)
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)

    for block in blocks:
        for command, _, shown in (part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]):
            output = StringIO()
            program, *arguments = shlex.split(command)
            call_command(*arguments, stdout=output)
            embed_pending()  # As a worker does meanwhile.

            assert program == "bigmind"
            assert not missing_from(output.getvalue(), filter(None, shown.splitlines())), (command, output.getvalue())

    assert len(titles) == len(blocks) == 10

"""The tables of the trial kinds, which a migration of theirs would make."""

from typing import Any

import pytest
from django.db import connection

from bigmind.core.private_row_numbers import NumberRows
from bigmind.database.roles import grant_to_application


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    from .models import FORGET_TEXTS, ISOLATE_OWNERS, Rumour, Signpost

    with django_db_blocker.unblock():
        with connection.schema_editor() as editor:
            editor.create_model(Rumour)
            editor.create_model(Signpost)
            for statement in (ISOLATE_OWNERS, *(FORGET_TEXTS.format(kind=kind) for kind in ("rumour", "signpost"))):
                editor.execute(statement)
        with connection.schema_editor(atomic=False) as editor:
            NumberRows("knowledge_rumour", "memory")._begin(None, editor)
        grant_to_application()

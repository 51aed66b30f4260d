"""Bring company knowledge, with its history, into an instance that has none."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bigmind.core.errors import Invalid
from bigmind.core.operations import refusal
from bigmind.management.base import OperatorCommand, argument
from bigmind.management.people import actor_for
from curation.services.company_exports import CompanyDocument, import_company
from knowledge.transfer.readers.bundles import bundle_of
from knowledge.transfer.readers.json_rows import document_in

DOCUMENT_BYTES = 256 * 1024 * 1024


class Command(OperatorCommand):
    """Import company knowledge that `bigmind export` wrote, with everything that was decided about it.

    Only into an instance that has none; the seals of the history are checked before anything is kept. What was approved
    waits for a decision of this instance's curators.
    """

    changes_memory = True
    examples = ("bigmind company_import shared/company/company.json", "bigmind curation_verify")
    arguments = (
        argument("file", type=Path, help="The file company.json."),
        argument(
            "--keep-approvals",
            action="store_true",
            help="Approve what the file says was approved. Only for a file that you exported yourself.",
        ),
        argument("--user", help="The admin who imports it. Default: the owner of this instance."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_for(options["user"])
        bundle = bundle_of(options["file"])
        with bundle.open(bundle.name) as file:
            content = document_in(file, bundle.name, limit=DOCUMENT_BYTES)
        try:
            document = CompanyDocument.model_validate(content)
        except ValidationError as error:
            found = refusal(error, CompanyDocument)
            raise Invalid(f"{bundle.name}: {found.message}") from None
        came = import_company(actor, document, keep_approvals=options["keep_approvals"])
        self.reply({"imported": came}, f"{came:,} entries imported, each with its history.")

"""Import company knowledge, with its history, into an instance that has none."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bigmind.core.argument_checks import refusal
from bigmind.core.errors import Invalid
from bigmind.management.base import OperatorCommand, argument
from bigmind.management.people import actor_for
from curation.services.company_exports import CompanyDocument, import_company
from knowledge.parsers.archives import bundle_of
from knowledge.transfer.readers.json_rows import document_in

DOCUMENT_BYTES = 256 * 1024 * 1024


class Command(OperatorCommand):
    """Import company knowledge that `bigmind export` wrote, with every decision about it. The instance must have none
    yet; the seals of the history are checked before anything is stored. Approved entries wait for this instance's
    curators to decide.
    """

    changes_memory = True
    examples = ("bigmind company_import shared/company/company.json", "bigmind audit_verify")
    arguments = (
        argument("file", type=Path, help="The file company.json."),
        argument(
            "--keep-approvals",
            action="store_true",
            help="Keep the approvals in the file. Use this only for a file that you exported yourself.",
        ),
        argument("--user", help="The admin to import as. Default: the owner of this instance."),
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

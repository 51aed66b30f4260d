"""What Schemathesis is to look at besides its own checks: whatever is refused with 422 is refused for a reason it says.

Some arguments rule others out, or hold a document with rules of its own, which a schema of one argument cannot say. So
422 is a right answer to data that fit the schema, but only with the name of an argument, and not to all that is sent.
Entries of an import are refused one by one: 200 is a right answer to data that do not fit, but only if it names rows.
"""

from typing import Any

import schemathesis

INVALID = 422
ROW_BY_ROW = "POST /api/v1/kb/import/"


@schemathesis.check
class RefusalsWithAReason:
    """Fails where a refusal names none of the arguments, and where all that fits the schema was refused."""

    def __init__(self) -> None:
        self.sent: set[str] = set()
        self.taken: set[str] = set()

    def after_response(self, ctx: Any, response: Any, case: Any) -> None:
        """Look at one answer."""
        fits = case.meta is not None and case.meta.generation.mode.is_positive
        if response.status_code == INVALID:
            _require_a_reason(response.json(), _arguments(case) if fits else set())
        elif response.status_code == 200 and case.operation.label == ROW_BY_ROW and _has_a_wrong_body(case):
            _require_rows(response.json())
        if fits:
            self.sent.add(case.operation.label)
            if response.status_code != INVALID:
                self.taken.add(case.operation.label)

    def after_run(self, ctx: Any) -> None:
        """Look at all of them."""
        if never := sorted(self.sent - self.taken):
            raise AssertionError(f"Nothing that fits the schema was ever taken: {', '.join(never)}")


def _require_a_reason(problem: dict[str, Any], arguments: set[str]) -> None:
    """Look whether a refusal names what is wrong; where the data fit the schema, one of the arguments."""
    named = {str(error["field"]).partition(".")[0] for error in problem.get("errors", [])}
    if not named or (arguments and not named & arguments):
        raise AssertionError(f"The refusal names no argument: {problem['detail']} {sorted(named)}")


def _require_rows(reply: dict[str, Any]) -> None:
    """Look whether something was refused, and by which row."""
    if not reply["errors"] or not all(error.startswith("Entry ") for error in reply["errors"]):
        raise AssertionError(f"What does not fit was taken, or refused without its row: {reply}")


def _has_a_wrong_body(case: Any) -> bool:
    parts = case.meta.components if case.meta else {}
    return any(part.mode.is_negative for where, part in parts.items() if where.name == "BODY")


def _arguments(case: Any) -> set[str]:
    operation = case.operation.definition.raw
    bodies = operation.get("requestBody", {}).get("content", {}).values()
    in_body = {name for body in bodies for name in body["schema"].get("properties", {})}
    return in_body | {one["name"] for one in operation["parameters"] if "name" in one}

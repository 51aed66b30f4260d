"""The form that pages of accounts build on."""

from collections.abc import Callable
from typing import Any, TypeVar

from bigmind.core.errors import BigMindError, Conflict, Invalid
from bigmind.core.sentences import in_language
from bigmind.web.forms import LabelledForm

Outcome = TypeVar("Outcome")


class RefusableForm(LabelledForm):
    """A form that says beside its fields what a service has refused."""

    def attempt(self, act: Callable[[dict[str, Any]], Outcome]) -> Outcome | None:
        """Act on what was typed. None if it was refused, or nothing was sent yet."""
        if not self.is_valid():
            return None
        try:
            return act(self.cleaned_data)
        except (Invalid, Conflict) as refusal:
            self.refuse(refusal)
            return None

    def refuse(self, refusal: BigMindError) -> None:
        """Show it beside the field it names, else above the form."""
        problems = refusal.problems if isinstance(refusal, Invalid) else []
        for problem in problems:
            field, message = str(problem["field"]), in_language(str(problem["message"]))
            self.add_error(field if field in self.fields else None, message[:1].upper() + message[1:])
        if not problems:
            self.add_error(None, in_language(str(refusal)))

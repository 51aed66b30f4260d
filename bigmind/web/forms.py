"""Forms whose rules are those of the operations: they show beside each field what was refused."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

from django import forms
from django.forms.utils import pretty_name
from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from bigmind.core.errors import Conflict, Invalid
from bigmind.core.operations import carry_out
from bigmind.core.sentences import in_language
from bigmind.core.translation import _
from bigmind.web.form_rendering import form_field, join_safely
from bigmind.web.words import choices_in_words, lazy_word

Outcome = TypeVar("Outcome")


def form_data(request: HttpRequest) -> QueryDict | None:
    """Return what a form sent; None if it is only shown."""
    return request.POST if request.method == "POST" else None


def choice(choices: Iterable[tuple[str, str]], *, blank: str = "", **kwargs: Any) -> forms.CharField:
    """Return a field that offers these choices; the operation validates which one was made."""
    labelled = choices_in_words(choices)
    offered = [("", blank), *labelled] if blank else labelled
    return forms.CharField(widget=forms.Select(choices=offered), **kwargs)


class LabelledForm(forms.Form):
    """A form whose fields are labelled in the reader's language, by their names where they have no label."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Fields of the class, of which each form gets copies: they are labelled once.
        for name, field in self.base_fields.items():
            if field.label is None:
                field.label = lazy_word(pretty_name(name))
        super().__init__(*args, **kwargs)
        self.label_suffix = ""

    @property
    def rendered(self) -> list["RenderedField"]:
        """The fields that are seen."""
        return [RenderedField(one.name, one.id_for_label, form_field(one)) for one in self.visible_fields()]

    @property
    def html(self) -> SafeString:
        """All of them."""
        return join_safely([field.html for field in self.rendered])


class RenderedField(NamedTuple):
    """A field of a form as it is shown."""

    name: str
    id_for_label: str
    html: SafeString


@dataclass(frozen=True)
class UnsentForm:
    """A form as it is first shown, with nothing in it: rendered once for each language, and kept.

    A form that shows what somebody wrote is none: their words would stay in the process after they were erased.
    """

    kind: type[LabelledForm]
    auto_id: str

    errors: ClassVar[tuple[str, ...]] = ()
    hidden_fields: ClassVar[tuple[str, ...]] = ()

    @property
    def rendered(self) -> list[RenderedField]:
        """The fields that are seen."""
        return _render_unsent(self, get_language())

    @property
    def html(self) -> SafeString:
        """All of them."""
        return join_safely([field.html for field in self.rendered])


@cache
def _render_unsent(form: UnsentForm, _language: str | None) -> list[RenderedField]:
    return form.kind(auto_id=form.auto_id).rendered


class RefusableForm(LabelledForm):
    """A form that is acted on, and says what was refused."""

    def attempt(self, act: Callable[[dict[str, Any]], Outcome]) -> Outcome | None:
        """Act on what was typed. None if it was refused, or nothing was sent yet."""
        if not self.is_valid():
            return None
        try:
            return act(self.cleaned_data)
        except (Invalid, Conflict) as refusal:
            self.refuse(refusal)
            return None

    def refuse(self, refusal: Any) -> None:
        """Show it beside the field it names, else above the form."""
        problems = refusal.problems if isinstance(refusal, Invalid) else []
        for problem in problems:
            field, message = str(problem["field"]), in_language(str(problem["message"]))
            self.add_error(field if field in self.fields else None, message[:1].upper() + message[1:])
        if not problems:
            self.add_error(None, in_language(str(refusal)))


class OperationForm(RefusableForm):
    """A form that carries out an operation. Its fields have the names of the arguments, and no rules of their own."""

    def carry_out(self, call: Callable[..., Any], actor: Any, **more: Any) -> Any:
        """Perform an operation with what was typed, and `more`. None if it was refused: the form then says why."""
        return self.attempt(lambda told: carry_out(call, actor, {**told, **more}))

    def refuse(self, refusal: Invalid | Conflict) -> None:
        """Say what was refused: beside the field where one is named, else above the form."""
        problems = refusal.problems if isinstance(refusal, Invalid) else []
        for problem in problems:
            field, _dot, place = str(problem["field"]).partition(".")
            if field in self.fields:
                subject = _("Line %(number)s") % {"number": int(place) + 1} if place.isdigit() else place or _("This")
                self.add_error(field, f"{subject} {in_language(problem['message'])}.")
            else:
                self.add_error(None, f"{problem['field']} {in_language(problem['message'])}.")
        if not problems:
            self.add_error(None, in_language(refusal.message))


class Question(OperationForm):
    """A form in the address of a page: it asks an operation that reads, and the page shows the answer."""

    MORE: ClassVar[tuple[str, ...]] = ()
    """The names of the fields behind “More filters”."""

    def answer(self, call: Callable[..., Any], actor: Any, **more: Any) -> Any:
        """Ask for the part of the answer that the address names. None when the question was refused."""
        return self.attempt(lambda _: carry_out(call, actor, {**self.asked, **more}))

    @property
    def asked(self) -> dict[str, Any]:
        """What the address says, without what it leaves blank."""
        values = {name: str(self.data.get(name, "")).strip() for name in (*self.fields, "offset")}
        return {name: value for name, value in values.items() if value}

    @property
    def narrows(self) -> bool:
        """Whether anything narrows the answer: an empty one then means that nothing matches."""
        return any(name in self.fields for name in self.asked)

    @property
    def more(self) -> list[forms.BoundField]:
        """The fields behind “More filters”."""
        return [self[name] for name in self.MORE]

    @property
    def more_is_asked(self) -> bool:
        """Whether one of those fields is used, or invalid."""
        return any(field.name in self.asked or field.errors for field in self.more)


class TextField(forms.CharField):
    """A text that is kept as typed. Browsers end lines their own way; only spaces count as empty."""

    widget = forms.Textarea

    def __init__(self, *, rows: int = 4, **kwargs: Any) -> None:
        super().__init__(strip=False, widget=forms.Textarea(attrs={"rows": rows}), **kwargs)

    def to_python(self, value: Any) -> str:
        """Return the text with its lines ended as they are stored."""
        text = str(super().to_python(value) or "").replace("\r\n", "\n")
        return text if text.strip() else ""


class Lines(TextField):
    """A list of sentences, one a line."""

    def prepare_value(self, value: Any) -> Any:
        """Show a list as lines, and what was typed as it was."""
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        """Return the lines that say something."""
        return [line.strip() for line in super().to_python(value).split("\n") if line.strip()]


class Names(forms.CharField):
    """A list of names, with commas between them."""

    def prepare_value(self, value: Any) -> Any:
        """Show a list as one line, and what was typed as it was."""
        return ", ".join(value) if isinstance(value, list | tuple) else value


def search_field(label: str) -> forms.CharField:
    """Return the field for the words to look for."""
    return forms.CharField(required=False, label=label, widget=forms.TextInput(attrs={"type": "search"}))

"""The fields of forms as HTML. Django renders a template for each of their attributes: half of what a form takes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.forms import BoundField
from django.forms.renderers import DjangoTemplates
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from bigmind.core.translation import _

Widget = Mapping[str, Any]


class FormRenderer(DjangoTemplates):
    """Writes the widgets that forms are made of as Django's templates do, and leaves all others to those."""

    def render(self, template_name: str, context: dict[str, Any], request: Any = None) -> SafeString:
        """Return the HTML of a widget, or of a form."""
        write = _WRITERS.get(template_name)
        if write is None:
            return mark_safe(super().render(template_name, context, request))  # noqa: S308 - of Django's templates
        return mark_safe(write(context["widget"]))  # noqa: S308 - each part has been escaped


def form_field(field: BoundField) -> SafeString:
    """Write one field of a form: its label, what it is for, what is wrong with it, and its widget."""
    label, notes, widget = conditional_escape(field.label), field_notes(field), str(field)
    kind = field.widget_type
    if field.use_fieldset:
        described = f' aria-describedby="{field.aria_describedby}"' if field.aria_describedby else ""
        html = f"<fieldset{described}><legend>{label}</legend>{notes}{widget}</fieldset>"
    elif kind == "checkbox":
        html = f'<label for="{field.id_for_label}">{widget} {label}</label>{notes}'
    else:
        optional = "" if field.field.required else f" <small>{_('optional')}</small>"
        html = f'<label for="{field.id_for_label}">{label}{optional}</label>{notes}{widget}'
    shown_as = ' data-kind="checkbox"' if kind == "checkbox" else ""
    return mark_safe(f'<div class="field"{shown_as}>{html}</div>')  # noqa: S308 - each part has been escaped


def join_safely(parts: Iterable[SafeString]) -> SafeString:
    """Join HTML that is safe already."""
    return mark_safe("".join(parts))  # noqa: S308 - each part is HTML that may be shown


def field_notes(field: BoundField) -> SafeString:
    """Write what a field is for, and what is wrong with it."""
    html = ""
    if field.help_text:
        html = f'<p class="hint" id="{field.auto_id}_helptext">{conditional_escape(field.help_text)}</p>'
    if field.errors:
        errors = "".join([f"<li>{conditional_escape(str(error))}</li>" for error in field.errors])
        html += f'<ul class="errors" id="{field.auto_id}_error">{errors}</ul>'
    return mark_safe(html)  # noqa: S308 - each part has been escaped


def _attributes(widget: Widget) -> str:
    written = ""
    for name, value in widget["attrs"].items():
        if value is not False:
            written += f" {name}" if value is True else f' {name}="{conditional_escape(value)}"'
    return written


def _input(widget: Widget) -> str:
    value = "" if widget["value"] is None else f' value="{conditional_escape(widget["value"])}"'
    return f'<input type="{widget["type"]}" name="{conditional_escape(widget["name"])}"{value}{_attributes(widget)}>'


def _textarea(widget: Widget) -> str:
    text = conditional_escape(widget["value"] or "")
    return f'<textarea name="{conditional_escape(widget["name"])}"{_attributes(widget)}>\n{text}</textarea>'


def _select(widget: Widget) -> str:
    groups = [_group_of_select(name, options) for name, options, _ in widget["optgroups"]]
    return f'<select name="{conditional_escape(widget["name"])}"{_attributes(widget)}>{"".join(groups)}\n</select>'


def _group_of_select(name: str, options: list[Widget]) -> str:
    listed = "".join(
        [
            f'\n  <option value="{conditional_escape(option["value"])}"{_attributes(option)}>'
            f"{conditional_escape(option['label'])}</option>"
            for option in options
        ]
    )
    return f'\n  <optgroup label="{conditional_escape(name)}">{listed}\n  </optgroup>' if name else listed


def _choices(widget: Widget) -> str:
    id, kind = widget["attrs"].get("id"), widget["attrs"].get("class")
    named = (f' id="{conditional_escape(id)}"' if id else "") + (f' class="{conditional_escape(kind)}"' if kind else "")
    groups = [
        f"\n  <div><label>{conditional_escape(name)}</label>{_choices_in(options)}\n  </div>"
        if name
        else _choices_in(options)
        for name, options, _ in widget["optgroups"]
    ]
    return f"<div{named}>{''.join(groups)}\n</div>"


def _choices_in(options: list[Widget]) -> str:
    return "".join([f"<div>\n    {_choice(option)}</div>" for option in options])


def _choice(option: Widget) -> str:
    if not option["wrap_label"]:
        return _input(option)
    id = option["attrs"].get("id")
    target = f' for="{conditional_escape(id)}"' if id else ""
    return f"<label{target}>{_input(option)}\n {conditional_escape(option['label'])}</label>"


_WRITERS: dict[str, Callable[[Widget], str]] = {
    **{f"django/forms/widgets/{kind}.html": _input for kind in ("text", "number", "email", "password", "hidden")},
    "django/forms/widgets/textarea.html": _textarea,
    "django/forms/widgets/select.html": _select,
    "django/forms/widgets/radio.html": _choices,
    "django/forms/widgets/checkbox_select.html": _choices,
}

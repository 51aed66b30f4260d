"""Texts that people read, in their language: `_` at once, `gettext_lazy` each time a text of a module is printed.

Agents, scripts and logs read English: nothing but pages and mails chooses a language (docs/languages.md).
"""

from typing import cast

from django.utils import text, translation
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

__all__ = ["_", "format_lazy", "gettext_lazy", "ngettext", "write_number"]


def gettext_lazy(message: str) -> str:
    """Return a text of a module or a class, to be translated when it is printed.

    To types it is the text that it stands for. `str.join` needs `str()` around it.
    """
    return cast("str", translation.gettext_lazy(message))


def format_lazy(message: str, **values: object) -> str:
    """Fill in a text of `gettext_lazy` when it is printed: `format_lazy(gettext_lazy("the first {n}"), n=3)`."""
    return cast("str", text.format_lazy(message, **values))


def write_number(number: float) -> str:
    """Write a number the way people read it: 1,300; where German is read, 1.300."""
    return number_format(number, force_grouping=True)

"""What the pages of all that may rest on code share: the field for its anchors."""

from bigmind.core.translation import gettext_lazy
from bigmind.web.forms import Lines

HINT = gettext_lazy("One in each line: acme/shop#src/limits.py:RateLimiter.allow. Changes of it are reported.")


def anchors_field() -> Lines:
    """Return the field for the code that something rests on."""
    return Lines(rows=2, required=False, label=gettext_lazy("The code it rests on"), help_text=HINT)

"""Django for pages and REST."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")
django = get_wsgi_application()

from bigmind.database.rls import NOBODY, begin_seeing  # noqa: E402
from bigmind.database.roles import forget_owner  # noqa: E402


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request. Only with the first one does this process become one that serves: WSGI tells of no start."""
    forget_owner()
    begin_seeing(NOBODY)
    return django(environ, start_response)

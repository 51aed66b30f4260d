"""Django for pages and REST."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")

application = get_wsgi_application()

from bigmind.core.rls import NOBODY, begin_seeing  # noqa: E402
from bigmind.core.roles import forget_owner  # noqa: E402

forget_owner()
begin_seeing(NOBODY)

"""Where everything is. What begins with `/mcp` is not Django's: see `bigmind/asgi.py`."""

from django.contrib import admin
from django.urls import include, path, register_converter
from django.views.generic import RedirectView

from accounts.views import keys
from accounts.views.consent import consent
from bigmind.core.private_row_numbers import NumberConverter, NumberTextConverter
from bigmind.observability.health import healthz, readyz
from bigmind.observability.metrics import metrics
from bigmind.toolsets import TOOLSETS
from bigmind.transports.hooks.views import HookView
from bigmind.views import imports, system_backups, system_settings
from bigmind.views.connect import connect
from bigmind.views.help import help_file, help_page
from bigmind.views.home import home
from bigmind.views.pages import admin_sign_in, choose_theme, counts, system
from bigmind.views.profile import profile, sharing
from bigmind.views.scrub import scrub
from bigmind.views.styleguide import styleguide
from bigmind.views.welcome import welcome
from bigmind.web.pages import ADMIN

register_converter(NumberConverter, "number")
register_converter(NumberTextConverter, "thing")

urlpatterns = [
    path("", home, name="home"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/", include("bigmind.transports.rest.urls")),
    path("hooks/<str:client>/", HookView.as_view(), name="hooks"),
    path("system/", system, name="system"),
    path("system/backups/", system_backups.system_backups, name="system-backups"),
    path("system/backups/make/", system_backups.start_backup, name="system-backup-start"),
    path("system/tests/", system_settings.connection_tests, name="system-tests"),
    path("system/tests/<slug:name>/", system_settings.testing, name="system-test"),
    path("system/settings/", system_settings.system_settings, name="system-settings"),
    path("scrub/", scrub, name="scrub"),
    path("styleguide/", styleguide, name="styleguide"),
    path("help/", help_page, name="help"),
    path("help/files/<path:name>", help_file, name="help-file"),
    path("help/<path:slug>/", help_page, name="help-page"),
    path("counts/", counts, name="counts"),
    path("theme/", choose_theme, name="theme"),
    path("admin/login/", admin_sign_in),
    # Whose password may be changed, and how, is the business of one page.
    path("admin/password_change/", RedirectView.as_view(pattern_name="password")),
    path(ADMIN.removeprefix("/"), admin.site.urls),
    path("connect/", connect, name="connect"),
    path("welcome/", welcome, name="welcome"),
    path("keys/new/", keys.create, {"toolsets": TOOLSETS}, name="key-create"),
    path("connected-apps/consent/", consent, {"toolsets": TOOLSETS}, name="consent"),
    path("u/<str:username>/", profile, name="profile"),
    path("u/<str:username>/sharing/", sharing, name="profile-sharing"),
    path("memory/import/", imports.importing, {"page": "memory-import"}, name="memory-import"),
    path("memory/import/confirm/", imports.import_confirmed, {"page": "memory-import"}, name="memory-import-confirm"),
    path("memory/import/undo/", imports.take_back, {"page": "memory-import"}, name="memory-import-undo"),
    path("docs/sources/import/", imports.importing, {"page": "docs-import"}, name="docs-import"),
    path("docs/sources/import/confirm/", imports.import_confirmed, {"page": "docs-import"}, name="docs-import-confirm"),
    path("docs/sources/import/undo/", imports.take_back, {"page": "docs-import"}, name="docs-import-undo"),
    path("", include("accounts.urls")),
    path("", include("curation.urls")),
    path("", include("knowledge.urls")),
]

handler400 = "bigmind.transports.rest.problems.bad_request"
handler403 = "bigmind.transports.rest.problems.permission_denied"
handler404 = "bigmind.transports.rest.problems.not_found"
handler500 = "bigmind.transports.rest.problems.server_error"

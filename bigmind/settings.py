"""Django's settings: one file; everything that differs between instances comes from `bigmind.environment`."""

import gc
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from psycopg.conninfo import conninfo_to_dict
from pydantic import BaseModel, ConfigDict

from bigmind.environment import environment
from bigmind.observability.logging import logging_configuration

# What is imported stays: at Python's usual threshold, a search for garbage among it is a seventh of every start.
gc.set_threshold(50_000, 20, 50)
# A process uses few of the 700 models, most of which are the protocol's: each is built when it is used first.
BaseModel.model_config = ConfigDict(defer_build=True)

BASE_DIR = Path(__file__).resolve().parent.parent
# A wheel has templates and static files within the package; a clone has them beside it.
FILES = next(folder for folder in (BASE_DIR / "bigmind", BASE_DIR) if (folder / "templates").is_dir())
ENVIRONMENT = environment()

DEBUG = ENVIRONMENT.debug
SECRET_KEY = ENVIRONMENT.signing_key()
SECRET_KEY_FALLBACKS = ENVIRONMENT.secret_key_fallbacks.get_secret_value().split()
PUBLIC_URL = ENVIRONMENT.url
BIGMIND_MODE = ENVIRONMENT.mode
READ_ONLY = ENVIRONMENT.read_only
PROFILE_SECTIONS = ENVIRONMENT.sections
BIGMIND_REVIEW_DAYS = ENVIRONMENT.review_days
VERIFY_DAYS = ENVIRONMENT.verify_days
VERIFY_DECISIONS_DAYS = ENVIRONMENT.verify_decisions_days

ROOT_URLCONF = "bigmind.urls"
WSGI_APPLICATION = "bigmind.wsgi.application"
ASGI_APPLICATION = "bigmind.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "bigmind",
    "curation",
    "knowledge",
    # Before ours, whose admin says what of theirs is shown.
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "accounts",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "django.contrib.postgres",
    "bigmind.apps.BigMindAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "bigmind.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "bigmind.middleware.CompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.middleware.SignInMiddleware",
    # What follows sees the rows of the signed-in user alone, and runs a second time where a replica fails.
    "bigmind.middleware.RlsMiddleware",
    "bigmind.middleware.ReaderMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "accounts.middleware.ProofMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "bigmind.middleware.NoticeMiddleware",
    # The last is asked first about an exception.
    "bigmind.middleware.RefusalMiddleware",
]

TEMPLATES = [
    {
        "NAME": "pages",
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "bigmind.web.constants.Loader",
                    ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "bigmind.context_processors.theme",
                "bigmind.context_processors.navigation",
                "bigmind.context_processors.first_steps",
                "bigmind.context_processors.instance",
                "bigmind.help.links.help_link",
            ],
            "libraries": {"components": "bigmind.web.components", "charts": "bigmind.web.charts"},
        },
    },
    {
        # What agents read is markdown, not HTML: what is printed passes `inline`, `quoted` or `fence`.
        "NAME": "agent",
        "BACKEND": "bigmind.core.agent_templates.AgentTemplates",
        "DIRS": [FILES / "templates"],
        "OPTIONS": {"libraries": {"agent": "knowledge.templatetags.agent"}},
    },
]

FORM_RENDERER = "bigmind.web.form_rendering.FormRenderer"

# --- Database -------------------------------------------------------------------------------------------------


def _database_urls() -> tuple[str, str]:
    """The configured database and that of its owner, else the embedded one: it need not run yet."""
    if url := ENVIRONMENT.database_url.get_secret_value():
        return url, ENVIRONMENT.database_owner_url.get_secret_value()
    from bigmind.embedded.cluster import Cluster

    cluster = Cluster(ENVIRONMENT.home)
    return cluster.application_url, cluster.url


def _database(url: str) -> dict[str, Any]:
    """Return Django's settings for a database. Options in its URL win: they may name a certificate, for example."""
    parsed = dj_database_url.parse(url)
    given = parsed.get("OPTIONS", {})
    limits = {"statement_timeout": "5s", "idle_in_transaction_session_timeout": "30s"}
    if READ_ONLY:
        limits["default_transaction_read_only"] = "on"
    return {
        **parsed,
        "ENGINE": "bigmind.database.postgresql",
        "CONN_HEALTH_CHECKS": True,
        # A cursor of the server outlives its statement, and in a pool the next transaction has another session.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {"application_name": "bigmind", "limits": {} if "options" in given else limits, **given},
    }


_APPLICATION, _OWNER = _database_urls()
DATABASES = {
    "default": {
        **_database(_APPLICATION),
        # Pages and tool calls run on two bounded pools of threads that live as long as the process, so each thread
        # may keep its connection. It is asked whether it still lives before a request uses it.
        "CONN_MAX_AGE": 600,
    }
}
# The owner of the tables, where it is another role: bigmind/database/roles.py.
DATABASE_ROUTERS = []
if _OWNER:
    DATABASES["owner"] = {**_database(_OWNER), "CONN_MAX_AGE": 0}
    DATABASE_ROUTERS += ["bigmind.database.roles.AsOwnerWhileMigrating"]
# What answers reads. One that is away must not be felt for long: the primary answers then (`database/replicas.py`).
if (_REPLICA := ENVIRONMENT.database_replica_url.get_secret_value()) and not READ_ONLY:
    DATABASES["replica"] = {**_database(_REPLICA), "CONN_MAX_AGE": 600}
    DATABASES["replica"]["OPTIONS"] = {
        "connect_timeout": 2,
        "tcp_user_timeout": 3000,
        **DATABASES["replica"]["OPTIONS"],
    }
    DATABASE_ROUTERS += ["bigmind.database.replicas.ReadsByReplica"]


def _listens_at() -> dict[str, Any]:
    """Return where changes are listened for, past a pool. What is missing here is as in BIGMIND_DATABASE_URL."""
    if direct := ENVIRONMENT.database_direct_url.get_secret_value():
        return {"port": None, **conninfo_to_dict(direct)}
    owner = conninfo_to_dict(_OWNER)  # Its address alone: the application listens.
    return {name: owner.get(name) for name in ("host", "port")} if owner else {}


LISTENS_AT = _listens_at()

# --- People ---------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
REQUIRE_MFA = ENVIRONMENT.require_mfa
OIDC_ISSUER = ENVIRONMENT.oidc_issuer
OIDC_CLIENT_ID = ENVIRONMENT.oidc_client_id
OIDC_CLIENT_SECRET = ENVIRONMENT.oidc_secret
OIDC_NAME = ENVIRONMENT.oidc_name
OIDC_ALLOWED_DOMAINS = ENVIRONMENT.oidc_domains
OIDC_JOIN = ENVIRONMENT.oidc_join
OIDC_ROLE_CLAIM = ENVIRONMENT.oidc_role_claim
OIDC_ROLES = ENVIRONMENT.oidc_role_of_groups
PASSWORDS_ONLY_FOR = ENVIRONMENT.passwords_only_for
# Of django-allauth only the rows and the protocols are used: none of its addresses is routed.
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ADAPTER = "accounts.adapters.SecondFactorAdapter"
MFA_RECOVERY_CODE_COUNT = 10
SOCIALACCOUNT_ADAPTER = "accounts.adapters.CompanySignInAdapter"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
# Clocks of phones go wrong: the code before and the code after count as well.
MFA_TOTP_TOLERANCE = 1
SESSION_ENGINE = "accounts.sign_in.session_rows"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "bigmind_session"
CSRF_COOKIE_NAME = "bigmind_csrf"
CSRF_FAILURE_VIEW = "bigmind.views.errors.csrf_failure"

# --- Connected apps (OAuth) -----------------------------------------------------------------------------------

OAUTH = ENVIRONMENT.serves_oauth
# How the documents are fetched by which apps introduce themselves. Tests have theirs on this machine.
OAUTH_DOCUMENTS: dict[str, Any] = {"may_be_private": False, "verify": True}

# --- The public address: hosts, origins and cookies follow from one setting -------------------------------------

_HTTPS = PUBLIC_URL.startswith("https://")
ALLOWED_HOSTS = ENVIRONMENT.allowed_hosts
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.allowed_origins
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
_HSTS = ENVIRONMENT.hsts if _HTTPS else "off"
SECURE_HSTS_SECONDS = 0 if _HSTS == "off" else 60 * 60 * 24 * 365
SECURE_HSTS_INCLUDE_SUBDOMAINS = _HSTS in {"subdomains", "preload"}
SECURE_HSTS_PRELOAD = _HSTS == "preload"
SILENCED_SYSTEM_CHECKS = [
    # Whether the hosts below this one have TLS, only their owner knows: BIGMIND_HSTS.
    "security.W005",
    "security.W021",
    # BigMind speaks no TLS: the proxy that does redirects to it. Behind one that does not say by which scheme it was
    # asked, a redirection from here would lead back here for ever.
    "security.W008",
]
# What it says decides whether HSTS is sent, and how strictly a form's origin is looked at: nothing worth forging.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

# --- Limits (docs/limits.md) ----------------------------------------------------------------------------------

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
MCP_BODY_BYTES = 1024 * 1024
LOG_AUDIT = ENVIRONMENT.log_audit
AUDIT_HEAD_FILE = ENVIRONMENT.home / "audit_head.json"
RATE_LIMIT_PER_MINUTE = ENVIRONMENT.rate_limit
WAITING_PER_PERSON = ENVIRONMENT.waiting_per_person
METRICS_TOKEN = ENVIRONMENT.metrics_token.get_secret_value()
SLOW_MILLISECONDS = ENVIRONMENT.slow_ms
OTLP_ENDPOINT = ENVIRONMENT.otlp_endpoint
TRACES = ENVIRONMENT.sends_traces
SECRETS_POLICY = ENVIRONMENT.secrets

# --- REST -----------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["bigmind.transports.rest.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "bigmind.transports.rest.openapi_document.OperationSchema",
    "EXCEPTION_HANDLER": "bigmind.transports.rest.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "BigMind",
    "DESCRIPTION": "Persistent, institutional memory for AI agents, curated by people.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    # Choices stay where they are: as components of their own some would have names that change with any of them.
    "POSTPROCESSING_HOOKS": [],
}

# --- Meaning --------------------------------------------------------------------------------------------------

EMBEDDING_PROVIDER = ENVIRONMENT.embedding_provider
EMBEDDING_URL = ENVIRONMENT.embedding_url
EMBEDDING_MODEL = ENVIRONMENT.embedding_model
EMBEDDING_API_KEY = ENVIRONMENT.embedding_api_key.get_secret_value()
EMBEDDING_DIMENSIONS = ENVIRONMENT.embedding_dimensions
EMBEDDING_DAILY_TOKENS = ENVIRONMENT.embedding_daily_tokens
RERANK_URL = ENVIRONMENT.rerank_url
RERANK_MODEL = ENVIRONMENT.rerank_model
RERANK_API_KEY = ENVIRONMENT.rerank_api_key.get_secret_value()
SEARCH_FUSION = ENVIRONMENT.search_fusion
LANGUAGE = ENVIRONMENT.language
UNPACKED = ENVIRONMENT.home / "run"  # Where files of packages are unpacked, if it is there.
GAPS = ENVIRONMENT.gaps
SOURCE_MEGABYTES = ENVIRONMENT.source_megabytes

# --- The company's BigMind ------------------------------------------------------------------------------------

COMPANY_URL = ENVIRONMENT.company_url
COMPANY_KEY = ENVIRONMENT.company_key.get_secret_value()
COMPANY_PLAIN_HTTP = ENVIRONMENT.company_plain_http
# Only an address that was configured may be one that others can reach.
COMPANY_SEES_URL = ENVIRONMENT.public_url
INSTANCE_NAME = ENVIRONMENT.instance_name
# --- Outside apps ---------------------------------------------------------------------------------------------

BUDIBASE_URL = ENVIRONMENT.budibase_url
BUDIBASE_API_KEY = ENVIRONMENT.budibase_api_key.get_secret_value()
CONNECTOR_LOOKUPS = ENVIRONMENT.connector_lookups


# --- Telling people outside -----------------------------------------------------------------------------------

WEBHOOK_URL = ENVIRONMENT.webhook_url
WEBHOOK_SECRET = ENVIRONMENT.webhook_secret.get_secret_value()
WEBHOOK_PRIVATE = ENVIRONMENT.webhook_private
_MAIL = ENVIRONMENT.mail_server
EMAIL_HOST = _MAIL.hostname or ""
EMAIL_PORT = _MAIL.port or (465 if _MAIL.scheme == "smtps" else 587)
EMAIL_HOST_USER = unquote(_MAIL.username or "")
EMAIL_HOST_PASSWORD = unquote(_MAIL.password or "")
EMAIL_USE_SSL = _MAIL.scheme == "smtps"
# Without a name and password it is a relay on this machine or in this network, which mostly speaks no TLS.
EMAIL_USE_TLS = _MAIL.scheme == "smtp" and bool(EMAIL_HOST_USER)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ENVIRONMENT.email_from or f"bigmind@{urlsplit(PUBLIC_URL).hostname}"

# --- Work that waits ------------------------------------------------------------------------------------------

_REDIS = ENVIRONMENT.redis_url.get_secret_value()
_QUEUE = ENVIRONMENT.home / "queue"
CELERY_BROKER_URL = _REDIS or "filesystem://"
CELERY_BROKER_TRANSPORT_OPTIONS = (
    # A write wakes a worker: a silent Redis may cost it half a second, once. Workers are patient (bigmind/celery.py).
    # A message wakes, and what is to be done is a row: so what a worker has taken is not kept in Redis, too.
    {
        "socket_connect_timeout": 0.5,
        "socket_timeout": 0.5,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
        "ack_emulation": False,
    }
    if _REDIS
    else {
        "data_folder_in": str(_QUEUE / "in"),
        "data_folder_out": str(_QUEUE / "in"),
        "processed_folder": str(_QUEUE / "processed"),
        "control_folder": str(_QUEUE / "control"),
        "store_processed": False,
    }
)
CELERY_WORKER_CONSUMER = "bigmind.embedded.task_consumer:LastingConsumer"
CELERY_BEAT_SCHEDULER = "bigmind.embedded.scheduling:LastingScheduler"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_TASK_IGNORE_RESULT = True
# A thread keeps its connection to the database, as those of the web processes do: bigmind/observability/task_runs.py.
CELERY_DB_REUSE_MAX = 1_000_000_000
# What a worker has in hand it has taken for good, so there is nothing to cancel; without this word Celery warns.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
# A worker takes what its threads can begin, and leaves the rest to other workers.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
# A message that expires does not pile up while no worker runs: the next one asks for the same.
CELERY_BEAT_SCHEDULE = {
    "embed-pending": {"task": "knowledge.tasks.embed_pending", "schedule": 15.0, "options": {"expires": 15}},
    "rewrite-passages": {"task": "knowledge.tasks.rewrite_passages", "schedule": 60.0, "options": {"expires": 60}},
    "index-replaced-facts": {"task": "knowledge.tasks.index_replaced_facts", "schedule": 86_400.0},
    "check-index": {"task": "knowledge.tasks.check_index", "schedule": 3600.0, "options": {"expires": 3600}},
    "find-missing-signs": {
        "task": "knowledge.tasks.find_missing_signs",
        "schedule": 600.0,
        "options": {"expires": 600},
    },
    "keep-indexes": {"task": "knowledge.tasks.keep_indexes", "schedule": 600.0, "options": {"expires": 600}},
    "close-stale-sessions": {"task": "knowledge.tasks.close_stale_sessions", "schedule": 600.0},
    "set-aside-expired-notes": {"task": "knowledge.tasks.forget_expired_notes", "schedule": 60.0},
    "index-people": {"task": "knowledge.tasks.index_people", "schedule": 600.0, "options": {"expires": 600}},
    "tally-servings": {"task": "knowledge.tasks.tally_servings", "schedule": 600.0, "options": {"expires": 600}},
    "carry-on-app-runs": {"task": "knowledge.tasks.carry_on_app_runs", "schedule": 60.0, "options": {"expires": 60}},
    "forget-old-questions": {"task": "knowledge.tasks.forget_old_questions", "schedule": 86_400.0},
    "forget-old-texts": {"task": "knowledge.tasks.forget_old_texts", "schedule": 86_400.0},
    "forget-captures": {"task": "knowledge.tasks.forget_captures", "schedule": 3600.0},
    "deliver-pending": {"task": "curation.tasks.deliver_pending", "schedule": 60.0},
    "tell-audit-head": {"task": "curation.tasks.tell_audit_head", "schedule": 300.0, "options": {"expires": 300}},
    # How often it is really asked, the row of the server says.
    "sync-with-company": {
        "task": "curation.tasks.sync_with_company",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "find-overlaps": {"task": "curation.tasks.find_overlaps", "schedule": 86_400.0, "options": {"expires": 3600}},
    "compare-proposals": {
        "task": "curation.tasks.compare_proposals",
        "schedule": 600.0,
        "options": {"expires": 600},
    },
    "check-golden-questions": {
        "task": "curation.tasks.check_golden_questions",
        "schedule": 600.0,
        "options": {"expires": 600},
    },
    "send-digests": {"task": "curation.tasks.send_digests", "schedule": 300.0},
    "warn-of-ending-keys": {"task": "accounts.tasks.warn_of_ending_keys", "schedule": 3600.0},
    "forget-unused-apps": {"task": "accounts.tasks.forget_unused_apps", "schedule": 3600.0},
    "delete-past-bounds": {"task": "bigmind.tasks.delete_past_bounds", "schedule": 3600.0},
    # Whether any are made, and where, each worker knows: no other process needs these settings.
    "back-up": {"task": "bigmind.tasks.back_up", "schedule": 600.0, "options": {"expires": 600}},
}
KEEP_TOLD_DAYS = ENVIRONMENT.keep_told_days
KEEP_CALLS_DAYS = ENVIRONMENT.keep_calls_days
KEEP_QUESTIONS_DAYS = ENVIRONMENT.keep_questions_days
KEEP_ASKED_DAYS = ENVIRONMENT.keep_asked_days
KEEP_DELIVERIES_DAYS = ENVIRONMENT.keep_deliveries_days
KEEP_RECORDS_DAYS = ENVIRONMENT.keep_records_days
KEEP_UNUSED_VECTORS = ENVIRONMENT.keep_unused_vectors
BACKUP_DIR = ENVIRONMENT.backup_dir
BACKUP_EVERY_HOURS = ENVIRONMENT.backup_every
BACKUP_KEEP = ENVIRONMENT.backup_keep
BACKUP_KEEP_DAILY = ENVIRONMENT.backup_keep_daily
BACKUP_KEEP_WEEKLY = ENVIRONMENT.backup_keep_weekly
BACKUP_KEEP_MONTHLY = ENVIRONMENT.backup_keep_monthly
# Redis away must not be felt for long: the cache answers like an empty one then.
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "bigmind.cache.ForgivingRedisCache",
        "LOCATION": _REDIS,
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
    }
    if _REDIS
    else {
        "BACKEND": "bigmind.file_cache.FileCache",
        "LOCATION": str(ENVIRONMENT.home / "run" / f"cache-{ENVIRONMENT.port}.sqlite3"),
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    }
}

# --- Language, time, files, logs --------------------------------------------------------------------------------

# English is the source; what agents, scripts and logs read stays English (docs/decisions/0067-languages.md).
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [FILES / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = ENVIRONMENT.zone
STATIC_URL = "static/"
STATICFILES_DIRS = [FILES / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# The files are served from where they lie: a checkout needs no collectstatic before it runs.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
LOGGING = logging_configuration(level=ENVIRONMENT.log_level, as_json=ENVIRONMENT.log_format == "json")
LOGGING_CONFIG = "logging.config.dictConfig"

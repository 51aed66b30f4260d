"""Texts that engineers store and that hold no secret, made by a seeded generator."""

import random
import string
import uuid
from base64 import b64encode
from collections.abc import Iterator

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
AREAS = ("deploys", "billing", "search", "auth", "onboarding", "exports", "importer", "scheduler", "gateway", "mobile")
PEOPLE = ("Ann", "Eric", "Priya", "the platform team", "the on-call engineer")

SENTENCES = (
    "Prefers pytest over unittest, and short functions over clever ones.",
    "The password is rotated every 90 days by {who}.",
    "Passwords are hashed with argon2id; the password policy asks for 12 characters, 1 digit and 1 symbol.",
    "The API token expires after 3600s, and the refresh token after 30 days.",
    "We moved from JWT to opaque session tokens in release {n}.{n}.0 because revocation was too slow.",
    "Secrets live in Vault under secret/data/{area}/prod; nobody keeps them in the repository.",
    "Set DATABASE_PASSWORD in the environment before you start {area}.",
    "You must run migrations before deploy; see runbook RB-{n}.",
    "The secret key is read from /run/secrets/{area} at start-up.",
    "Key rotation for {area} is planned for 2026-Q{q}; ticket SEC-{n}.",
    "The cache key is user:{n}:profile, the partition key is tenant_id, and the sort key is created_at.",
    "Max tokens is 4096 and the token budget of a session is 1300 tokens.",
    "{who} decided that {area} uses RS256 and 2048-bit keys, not HS256.",
    "To reset a password, call POST /v1/password-reset with the user's e-mail; the token is single-use.",
    "The bearer token goes into the Authorization header; never into the URL.",
    "password: string, required, at least 8 characters",
    "The primary key of orders is a UUID v7; the foreign key to users is user_id.",
    "Login fails with 401 invalid_token when the clock is off by more than 30s.",
    "The access token is stored in the keychain under com.example.{area}.token.v2",
    "We use OAuth2 with PKCE, so there is no client secret in the mobile app.",
    "GitHub Actions reads secrets.DEPLOY_TOKEN; rotate it with gh secret set DEPLOY_TOKEN.",
    "The public key is ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} eric@laptop",
    "Idempotency key: {uuid}",
    "Fixed in commit {sha} by {who}.",
    "The build {sha12} failed on node18 with ERR_REQUIRE_ESM.",
    "Checksum of the release archive: sha256:{sha64}",
    "trace_id={hex32} span_id={hex16} status=ok",
    "Request {uuid} took 1.{n}s and 14 queries.",
    "nextPageToken: {b43}",
    "docker pull ghcr.io/example/{area}@sha256:{sha64}",
    "The host 10.{q}.12.{n} answers on port 8443; IPv6 is fe80::{hex4}:{hex4}.",
    "Colours: #1d1c1a, #eceae6, #{hex6} and rgba(12, 34, 56, .5).",
    "See https://docs.example.com/guides/{area}/tokens?version={n}#rotating-keys",
    "The log is at /var/log/{area}/2026-0{q}-1{q}/worker-{n}.log.gz",
    "Ticket {area}-{n} is blocked by PLAT-{n} until the auth service supports token exchange (RFC 8693).",
    "pip install example=={q}.{n}.0 --hash=sha256:{sha64}",
    "Tokenizer: pad_token='<pad>', eos_token_id=50256, vocabulary of 128256 tokens.",
    "The password field is disabled while single sign-on is enforced.",
    "The private key never leaves the HSM; its key id is {hex16}.",
    "-----BEGIN PRIVATE KEY----- is the header that the scanner looks for.",
    "Session {uuid} ended; summary stored.",
    "The webhook secret is stored per tenant, encrypted with AES256-GCM, nonce 12 bytes.",
    "csrf_token is a hidden field; the cookie is csrftoken.",
)
PLACEHOLDERS = (
    "API_KEY=<your-api-key>",
    "API_KEY=your_api_key_here",
    "OPENAI_API_KEY=sk-...",
    "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "AWS_ACCESS_KEY_ID=AKIA" + "IOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "password: changeme",
    "DB_PASSWORD=$DATABASE_PASSWORD",
    "url: postgres://user:password@host/name",
    "DATABASE_URL=postgres://${{DB_USER}}:${{DB_PASSWORD}}@${{DB_HOST}}:5432/${{DB_NAME}}",
    "mysql://USER:PASSWORD@HOST:3306/DATABASE",
    "redis://:<password>@localhost:6379/0",
    "postgres://postgres:postgres@localhost:5432/postgres",
    "amqp://guest:guest@localhost//",
    "token: ${{{{ secrets.GITHUB_TOKEN }}}}",
    "password = os.environ['DB_PASSWORD']",
    "apiKey: process.env.STRIPE_SECRET_KEY,",
    "secret_key = config.get('django', 'secret_key')",
    "PASSWORD = getpass.getpass('Password: ')",
    "const token = await fetchToken(clientId2, scope);",
    "password=None, token=None, api_key=None",
    "def login(username: str, password: str, token: str | None = None) -> Session:",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "curl -u user:password https://api.example.com/",
    "curl -u $USER:$PASS https://api.example.com/",
    "--password <password>",
    'client_secret: "********"',
    '"password": "[REDACTED]"',
    "POSTGRES_PASSWORD: example",
    "ENCRYPTION_KEY=0000000000000000000000000000000000000000",
    "JWT_SECRET=change-me-in-production",
    "ANTHROPIC_API_KEY=sk-ant-your-key-here",
    "secret: vault:secret/data/app#password",
    "password: !vault |",
    "passwordSecretRef:\n  name: db-credentials\n  key: password1",
    "valueFrom:\n  secretKeyRef:\n    name: api-token\n    key: token-v2",
    "https://<token>@github.com/org/repo.git",
    "STRIPE_KEY=sk_test_xxxxxxxxxxxxxxxxxxxxxxxx",
)
MINIFIED = (
    'function a(e,t){{return e.token=t.token||n("{hex6}"),e.password=t.password,e.key===t.key}}',
    '!function(e){{var t={{}};t.apiKey=e.apiKey2,t.secret=e.getSecret(12),t.v="{q}.{n}.1"}}(window);',
    "o.prototype.setPassword=function(e){{this.password=e,this.token=void 0}};var r=1e{q};",
    'webpackJsonp([{n}],{{"{hex4}":function(e,t,n){{"use strict";t.a={{token:null,key:"id{n}"}}}}}});',
)


def ordinary_texts(seed: int, count: int) -> Iterator[str]:
    """Make texts without secrets."""
    chosen = random.Random(seed)
    makers = (_sentence, _sentence, _sentence, _placeholder, _digests, _blob, _code)
    for number in range(count):
        yield makers[number % len(makers)](chosen)


def _fill(chosen: random.Random, template: str) -> str:
    def of(alphabet: str, length: int) -> str:
        return "".join(chosen.choices(alphabet, k=length))

    return template.format(
        who=chosen.choice(PEOPLE),
        area=chosen.choice(AREAS),
        n=chosen.randint(2, 250),
        q=chosen.randint(1, 4),
        sha=of(HEX, 40),
        sha12=of(HEX, 12),
        sha64=of(HEX, 64),
        hex32=of(HEX, 32),
        hex16=of(HEX, 16),
        hex6=of(HEX, 6),
        hex4=of(HEX, 4),
        b43=of(ALNUM, 43),
        uuid=uuid.UUID(int=chosen.getrandbits(128), version=4),
    )


def _sentence(chosen: random.Random) -> str:
    return " ".join(_fill(chosen, each) for each in chosen.sample(SENTENCES, chosen.randint(1, 3)))


def _placeholder(chosen: random.Random) -> str:
    return "\n".join(_fill(chosen, each) for each in chosen.sample(PLACEHOLDERS, chosen.randint(1, 3)))


def _digests(chosen: random.Random) -> str:
    integrity = b64encode(chosen.randbytes(64)).decode()
    lines = [
        f'"integrity": "sha512-{integrity}",',
        _fill(chosen, '"resolved": "https://registry.example.com/left-pad/-/left-pad-{q}.{n}.0.tgz#{sha}"'),
        _fill(chosen, "{sha} refs/tags/v{q}.{n}"),
        _fill(chosen, "Merge: {sha12} {hex16}\nCo-authored-by: Ann <ann@example.com>"),
        _fill(chosen, 'etag: "{hex32}"\nx-request-id: {uuid}'),
    ]
    return "\n".join(chosen.sample(lines, 2))


def _blob(chosen: random.Random) -> str:
    image = b64encode(b"\x89PNG\r\n\x1a\n" + chosen.randbytes(chosen.randint(100, 900))).decode()
    certificate = b64encode(chosen.randbytes(500)).decode()
    return chosen.choice(
        (
            f"![diagram](data:image/png;base64,{image})",
            f"-----BEGIN CERTIFICATE-----\n{certificate}\n-----END CERTIFICATE-----",
            f'<img src="data:image/png;base64,{image}" alt="login page with password field">',
            f"ssh-rsa {certificate} eric@laptop",
        )
    )


def _code(chosen: random.Random) -> str:
    return _fill(chosen, chosen.choice(MINIFIED)) + "\n" + _fill(chosen, chosen.choice(SENTENCES))

"""A labelled corpus of secrets in context, made from parts by a seeded generator: none of them was ever a live one."""

import json
import random
import string
import uuid
import zlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
WIDE = ALNUM + "_-"


@dataclass(frozen=True)
class Labelled:
    """A text, the secret in it, and the format that was used."""

    name: str
    text: str
    secret: str


class Maker:
    """Makes random parts of secrets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        return "".join(self.random.choices(alphabet, k=length))

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def base64(self, size: int) -> str:
        return b64encode(self.random.randbytes(size)).decode()

    def jwt(self) -> str:
        parts = (
            {"alg": "HS256", "typ": "JWT"},
            {"sub": self.of(LOWER, 9), "iat": self.random.randint(10**9, 2 * 10**9)},
        )
        encoded = [urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return ".".join([*encoded, self.of(WIDE, 43)])

    def pem(self, kind: str) -> str:
        body = self.base64(600)
        lines = "\n".join(body[start : start + 64] for start in range(0, len(body), 64))
        return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"

    def password(self) -> str:
        word = self.random.choice(("Winter", "dragon", "Kraken", "blueSky", "monkey", "Tr0ub4dor", "zebra", "Aurora"))
        return word + self.of(string.digits, 3) + self.random.choice("!$#*+") + self.of(string.ascii_letters, 2)

    def own_key(self) -> str:
        body, number, ending = self.of(ALNUM, 32), 0, ""
        number = zlib.crc32(body.encode())
        digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
        while number:
            number, rest = divmod(number, 62)
            ending = digits[rest] + ending
        return "bm_" + body + ending.rjust(6, "0")


TOKENS: dict[str, Callable[[Maker], str]] = {
    "AWS access key": lambda m: "AKIA" + m.of(string.ascii_uppercase + "234567", 16),
    "AWS temporary key": lambda m: "ASIA" + m.of(string.ascii_uppercase + "234567", 16),
    "Google API key": lambda m: "AIza" + m.of(WIDE, 34) + m.of(ALNUM, 1),
    "Google client secret": lambda m: "GOCSPX-" + m.of(WIDE, 27) + m.of(ALNUM, 1),
    "Google access token": lambda m: "ya29." + m.of(WIDE, 80) + m.of(ALNUM, 1),
    "Azure client secret": lambda m: m.of(ALNUM, 3) + "8Q~" + m.of(ALNUM, 34),
    "DigitalOcean": lambda m: "dop_v1_" + m.of(HEX, 64),
    "GitHub": lambda m: m.random.choice(("ghp_", "gho_", "ghs_", "ghu_")) + m.of(ALNUM, 36),
    "GitHub fine-grained": lambda m: "github_pat_" + m.of(ALNUM, 22) + "_" + m.of(ALNUM, 59),
    "GitLab": lambda m: "glpat-" + m.of(WIDE, 19) + m.of(ALNUM, 1),
    "Slack bot": lambda m: "-".join(("xoxb", m.of(string.digits, 12), m.of(string.digits, 13), m.of(ALNUM, 24))),
    "Slack app": lambda m: "-".join(("xapp", "1", "A" + m.of(UPPER, 10), m.of(string.digits, 13), m.of(HEX, 64))),
    "Slack webhook": lambda m: (
        "https://hooks.slack.com/" + f"services/T{m.of(UPPER, 10)}/B{m.of(UPPER, 10)}/{m.of(ALNUM, 24)}"
    ),
    "Stripe": lambda m: m.random.choice(("sk_live_", "rk_live_", "sk_test_")) + m.of(ALNUM, 24),
    "Stripe webhook": lambda m: "whsec_" + m.of(ALNUM, 32),
    "Twilio": lambda m: "SK" + m.of(HEX, 32),
    "SendGrid": lambda m: "SG." + m.of(WIDE, 22) + "." + m.of(WIDE, 42) + m.of(ALNUM, 1),
    "Mailgun": lambda m: "key-" + m.of(HEX, 32),
    "Mailchimp": lambda m: m.of(HEX, 32) + "-us" + str(m.random.randint(1, 21)),
    "npm": lambda m: "npm_" + m.of(ALNUM, 36),
    "PyPI": lambda m: "pypi-AgEIcHlwaS5vcmc" + m.of(WIDE, 120) + m.of(ALNUM, 1),
    "OpenAI": lambda m: "sk-proj-" + m.of(WIDE, 119) + m.of(ALNUM, 1),
    "OpenAI classic": lambda m: "sk-" + m.of(ALNUM, 20) + "T3Blbk" + "FJ" + m.of(ALNUM, 20),
    "Anthropic": lambda m: "sk-ant-api03-" + m.of(WIDE, 93) + "AA",
    "Hugging Face": lambda m: "hf_" + m.of(string.ascii_letters, 34),
    "Groq": lambda m: "gsk_" + m.of(ALNUM, 52),
    "Replicate": lambda m: "r8_" + m.of(ALNUM, 37),
    "JWT": Maker.jwt,
    "Telegram": lambda m: m.of("123456789", 10) + ":AA" + m.of(WIDE, 32) + m.of(ALNUM, 1),
    "Discord": lambda m: "M" + m.of(ALNUM, 25) + "." + m.of(ALNUM, 6) + "." + m.of(ALNUM, 38),
    "Discord webhook": lambda m: (
        "https://discord.com/api/" + f"webhooks/{m.of('123456789', 18)}/{m.of(WIDE, 67)}{m.of(ALNUM, 1)}"
    ),
    "Shopify": lambda m: "shpat_" + m.of(HEX, 32),
    "Databricks": lambda m: "dapi" + m.of(HEX, 32),
    "Vault": lambda m: "hvs." + m.of(WIDE, 94) + m.of(ALNUM, 1),
    "Linear": lambda m: "lin_api_" + m.of(ALNUM, 40),
    "Notion": lambda m: "ntn_" + m.of(ALNUM, 46),
    "Notion classic": lambda m: "secret_" + m.of(ALNUM, 43),
    "Atlassian": lambda m: "ATATT3xFfGF0" + m.of(WIDE, 170) + "=" + m.of(UPPER, 8),
    "Airtable": lambda m: "pat" + m.of(ALNUM, 14) + "." + m.of(HEX, 64),
    "Terraform": lambda m: m.of(ALNUM, 14) + ".atlasv1." + m.of(ALNUM, 67),
    "Docker Hub": lambda m: "dckr_pat_" + m.of(WIDE, 26) + m.of(ALNUM, 1),
    "RubyGems": lambda m: "rubygems_" + m.of(HEX, 48),
    "Grafana": lambda m: "glsa_" + m.of(ALNUM, 32) + "_" + m.of(HEX, 8),
    "New Relic": lambda m: "NRAK-" + m.of(UPPER, 27),
    "Sentry": lambda m: "sntryu_" + m.of(HEX, 64),
    "Figma": lambda m: "figd_" + m.of(WIDE, 39) + m.of(ALNUM, 1),
    "Postman": lambda m: "PMAK-" + m.of(HEX, 24) + "-" + m.of(HEX, 34),
    "Doppler": lambda m: "dp.pt." + m.of(ALNUM, 43),
    "Pulumi": lambda m: "pul-" + m.of(HEX, 40),
    "Tailscale": lambda m: "tskey-auth-" + m.of(ALNUM, 12) + "-" + m.of(ALNUM, 32),
    "Supabase": lambda m: "sbp_" + m.of(HEX, 40),
    "Square": lambda m: "sq0atp-" + m.of(WIDE, 21) + m.of(ALNUM, 1),
    "age": lambda m: "AGE-SECRET-KEY-1" + m.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "BigMind": Maker.own_key,
    "some other service": lambda m: m.of(string.ascii_lowercase, 5) + "_live_" + m.of(ALNUM, 32),
}
"""Tokens that tell what they are by their looks."""

AROUND_TOKENS = (
    "{0}", "The deploy job uses {0} until the end of the quarter.",
    "User said: remember `{0}` for the staging account, we need it tomorrow.", "export SERVICE={0}",
    'config = {{"value": "{0}"}}', "steps:\n  - run: ./deploy.sh\n    env:\n      ACCESS: {0}\n",
    "curl -H 'X-Custom: {0}' https://api.example.com/v1/items", "client = Client('{0}')\nclient.send()",
    "| staging | {0} | eric |", "Notes from today\n\n- rotated the old one\n- new one: {0}\n- told Ann",
    "line one\\nvalue={0}\\nline three", "({0})",
)  # fmt: skip

VALUES: dict[str, Callable[[Maker], str]] = {
    "hexadecimal": lambda m: m.of(HEX, m.random.choice((32, 40, 64))),
    "base62": lambda m: m.of(ALNUM, m.random.randint(20, 48)),
    "base64": lambda m: m.base64(m.random.choice((24, 32, 64))),
    "UUID": Maker.uuid,
}
AROUND_VALUES = (
    "API_KEY={0}", "export DATADOG_API_KEY='{0}'", "aws_secret_access_key = {0}", 'client_secret: "{0}"',
    '{{"accessToken": "{0}", "expires": 3600}}', "const apiKey = '{0}';", "SECRET_KEY: {0}\nDEBUG: false",
    "Authorization: Bearer {0}", "curl -H 'X-Api-Key: {0}' https://api.example.com/",
    "The API key for Cohere is {0}, owned by the search team.", "https://api.example.com/v1?api_key={0}&limit=5",
    "env:\n  - name: AUTH_TOKEN\n    value: {0}\n",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={0};EndpointSuffix=core.windows.net",
    '<add key="ApiKey" secret="{0}" />', "os.environ['ENCRYPTION_KEY'] = \"{0}\"", "$ tool login --token {0} --yes",
    "//registry.example.com/:_authToken={0}", 'private String signingKey = "{0}";',
)  # fmt: skip
AROUND_PASSWORDS = (
    "The admin password is {0}.", "DB_PASSWORD={0}", "password: {0}", "spring.datasource.password={0}",
    'db = connect(host="db", user="app", password="{0}")', "postgres://app:{0}@db.internal:5432/prod",
    "DATABASE_URL=mysql://root:{0}@10.0.0.5/shop", "redis://:{0}@cache:6379/0", "amqp://worker:{0}@mq.internal//",
    "mongodb+srv://svc:{0}@cluster0.ab1cd.mongodb.net/app", "https://eric:{0}@git.internal/repo.git",
    "Server=sql.internal;User Id=sa;Password={0};Encrypt=true", "mysql -uroot -p{0} shop < dump.sql",
    "sshpass -p '{0}' ssh deploy@10.1.2.3", "curl -u admin:{0} https://grafana.internal/api/health",
    "machine git.internal login eric password {0}",
    "    environment:\n      POSTGRES_PASSWORD: {0}\n      POSTGRES_DB: app",
    "Login for the demo: user demo, password {0}", "<password>{0}</password>",
    "The Wi-Fi passphrase was changed to {0} on Monday.",
)  # fmt: skip


def secrets_in_context(seed: int, rounds: int = 3) -> Iterator[Labelled]:
    """Make the corpus: every token in some contexts, values and passwords in every context."""
    m = Maker(seed)
    for _ in range(rounds):
        for name, make in TOKENS.items():
            around = m.random.choice(AROUND_TOKENS)
            secret = make(m)
            yield Labelled(name, around.format(secret), secret)
        for around in AROUND_VALUES:
            name, make = m.random.choice(list(VALUES.items()))
            secret = make(m)
            yield Labelled(name, around.format(secret), secret)
        for around in AROUND_PASSWORDS:
            secret = m.password()
            yield Labelled("password", around.format(secret), secret)
        yield from _private_keys(m)


def _private_keys(m: Maker) -> Iterator[Labelled]:
    for kind in ("RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"):
        whole = m.pem(kind)
        yield Labelled(kind, f"The key of the bastion:\n\n{whole}\n\nKeep it safe.", whole)
    whole = m.pem("PRIVATE KEY")
    escaped = whole.replace("\n", "\\n")
    account = {"type": "service_account", "project_id": "x", "private_key": whole + "\n", "client_email": "a@b.example"}
    yield Labelled("service account", json.dumps(account, indent=2), escaped)
    yield Labelled("one line", f'PRIVATE="{escaped}"', escaped)
    yield Labelled("cut off", whole[:400], whole[:400])
    yield Labelled("without its beginning", whole[-300:], whole[-150:])

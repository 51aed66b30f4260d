"""Tokens and private keys: what can be recognised by its form alone, without the text around it."""

import re
from binascii import a2b_base64
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from bigmind.text.key_text import KEY_CHARS, PREFIX, is_well_formed

from .values import Secret, entropy, has_placeholder, is_mixed, is_placeholder, is_plain

ALNUM = "[A-Za-z0-9]"
WIDE = r"[\w-]"
HEX = "[0-9a-f]"
UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

# After a letter or digit a prefix is the middle of a longer word, unless that letter ends an escape such as `\\n`.
_BOUNDARY = r"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-F][0-9A-F]{prefix}))"

KIND = "private key"
BODY_CHARS = 40
_BEGIN = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d|Private-Lines: ?\d+"
)
_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]+")
# Line ends may be escaped or quoted, as in JSON and in code. Headers such as `Proc-Type: 4,ENCRYPTED` may come first.
_SPACE = r"(?>(?:\s|\\{1,2}[nr]|\\?[\"'`+,>|]){0,40})"
_HEADERS = rf"(?>(?:[A-Z][\w-]{{1,20}}: ?[^\n\\]{{0,200}}{_SPACE}){{0,8}})"
_LINES = rf"(?>(?:[A-Za-z0-9+/=]{{16,}}+{_SPACE})*)"
_SHORT_LAST = rf"(?:[A-Za-z0-9+/=]{{1,80}}{_SPACE}(?=--|Private-MAC))?"
_BODY = re.compile(rf"(?::[^\n]{{0,99}})?{_SPACE}{_HEADERS}(?P<key>{_LINES}{_SHORT_LAST})")
_FRAMELESS = re.compile(
    r"(?:MII[A-Za-z0-9+/]{1,5}(?:IBAAKCA[QgI]|BADANBgkqhkiG9w0BAQEFAASC)|b3BlbnNzaC1rZXktdjEA|MC4CAQAwBQYDK2V|MHcCAQEEI"
    r"|MIG[HT]AgEA|MGgCAQEE|MHQCAQEEI)" + _LINES
)
# The lines before an end, of a text that is read backwards: looked for forwards, they would be tried at each place. The
# `n` of an escaped line end then counts as a letter of the line before. The last line may be short, as may be the
# checksum of a PGP key below it, and what is left of the first one where the text begins.
_SPACE_BEFORE = r"(?>(?:\s|[nr]?\\{1,2}|[\"'`,>|]|\+(?![A-Za-z0-9/=])){1,40})"
_SHORT = rf"(?![A-Za-z0-9+/=]{{16}})[A-Za-z0-9+/=]{{1,15}}+{_SPACE_BEFORE}"
_HEADLESS = re.compile(
    rf"{_SPACE_BEFORE}(?>(?:{_SHORT}){{0,2}})(?>(?:[A-Za-z0-9+/=]{{16,}}+(?>(?:{_SPACE_BEFORE})?))*)(?:[A-Za-z0-9+/=]{{1,15}}\Z)?"
)
_ENCODED_FRAME = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{60,}+")


class SecretFormat(NamedTuple):
    """A kind of secret: how it may begin, and what follows. Repetitions have an upper bound, so time stays linear."""

    kind: str
    prefixes: str
    body: str


FORMATS = tuple(
    SecretFormat(*row)
    for row in (
        # Clouds and hosting
        ("AWS access key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}"),
        ("AWS session token", "FwoGZXIvYXdz IQoJb3JpZ2lu", "[A-Za-z0-9+/=%]{60,2000}"),
        ("AWS Bedrock key", "ABSK bedrock-api-key-", "[A-Za-z0-9+/=]{60,400}"),
        ("AWS marketplace token", "amzn.mws.", UUID),
        ("Google API key", "AIza", rf"{WIDE}{{35}}"),
        ("Google OAuth client secret", "GOCSPX-", rf"{WIDE}{{20,40}}"),
        ("Google OAuth token", "ya29. 1//0", rf"{WIDE}{{24,400}}"),
        ("Azure key", "JQQJ99", f"{ALNUM}{{60,90}}"),
        ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", f"{HEX}{{40,80}}"),
        ("DigitalOcean Spaces key", "DO00 DO801", "[A-Z0-9]{16,18}"),
        ("Alibaba Cloud access key", "LTAI", f"{ALNUM}{{16,26}}"),
        ("Tencent Cloud access key", "AKID", f"{ALNUM}{{28,40}}"),
        ("Yandex Cloud key", "AQVN y0_Ag t1.", rf"{WIDE}{{30,200}}"),
        ("Scaleway access key", "SCW", "[A-Z0-9]{17}"),
        ("Heroku token", "HRKU-", rf"{WIDE}{{36,80}}"),
        ("Fly.io token", "fo1_ fm1r_ fm2_ fm1a_", r"[\w+/=-]{30,2000}"),
        ("Netlify token", "nfp_ nfc_ nfo_ nfb_ nfu_", f"{ALNUM}{{30,60}}"),
        ("Vercel token", "vcp_ vci_ vca_ vck_ vcr_", f"{ALNUM}{{24,80}}"),
        ("Render token", "rnd_", f"{ALNUM}{{28,40}}"),
        ("Cloudflare key", "v1.0-", f"{HEX}{{24}}-{HEX}{{100,160}}"),
        ("Cloudflare token", "cfut_ cfat_ cfk_", rf"{WIDE}{{36,80}}"),
        ("Supabase key", "sbp_ sb_secret_", rf"{WIDE}{{24,80}}"),
        ("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{28,80}"),
        ("Neon token", "napi_", f"{ALNUM}{{40,80}}"),
        ("Deno Deploy token", "ddp_ ddo_ ddw_", f"{ALNUM}{{30,50}}"),
        ("Pulumi token", "pul-", f"{HEX}{{40}}"),
        ("Tailscale key", "tskey-", rf"{WIDE}{{16,100}}"),
        ("OpenShift token", "sha256~", rf"{WIDE}{{43}}"),
        ("Vault token", "hvs. hvb. hvr.", rf"{WIDE}{{20,300}}"),
        ("Doppler token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", r"[\w.-]{32,80}"),
        ("1Password token", "ops_eyJ", rf"{WIDE}{{80,2000}}"),
        ("age secret key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,60}"),
        # Code, packages, builds
        ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9_.-]{30,600}"),
        ("GitHub fine-grained token", "github_pat_", r"\w{36,255}"),
        (
            "GitLab token",
            "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-",
            r"[\w.-]{20,300}",
        ),
        ("GitLab runner token", "GR1348941", rf"{WIDE}{{20,40}}"),
        ("Bitbucket token", "ATBB BBDC-", r"[\w=+/-]{24,60}"),
        ("Atlassian token", "ATATT3 ATCTT3 ATOATT", r"[\w=+/-]{60,400}"),
        ("npm token", "npm_", f"{ALNUM}{{30,60}}"),
        ("PyPI token", "pypi-AgE", rf"{WIDE}{{40,400}}"),
        ("RubyGems key", "rubygems_", f"{HEX}{{40,60}}"),
        ("crates.io token", "cio", "[A-Za-z0-9]{32}"),
        ("NuGet key", "oy2", "[a-z0-9]{43}"),
        ("Docker Hub token", "dckr_pat_ dckr_oat_", rf"{WIDE}{{24,60}}"),
        ("Clojars token", "CLOJARS_", "[a-z0-9]{60}"),
        ("Packagist token", "packagist_uut_ packagist_ort_ packagist_orr_ packagist_uat_", f"{HEX}{{60,80}}"),
        ("JFrog key", "AKCp cmVmdGtu", f"{ALNUM}{{50,80}}"),
        ("Buildkite token", "bkua_ bkaj_ bkct_ bkpt_", f"{ALNUM}{{36,80}}"),
        ("CircleCI token", "CCIPAT_ CCIPRJ_", r"\w{30,90}"),
        ("Octopus Deploy key", "API-", "[A-Z0-9]{25,32}"),
        ("Sonar token", "squ_ sqp_ sqa_", f"{HEX}{{40}}"),
        ("Sourcegraph token", "sgp_", r"\w{40,80}"),
        ("Prefect token", "pnu_ pnb_", "[a-z0-9]{36}"),
        ("Postman key", "PMAK-", f"{HEX}{{24}}-{HEX}{{30,40}}"),
        ("ReadMe key", "rdme_", "[a-z0-9]{60,80}"),
        # Models
        ("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{WIDE}{{20,300}}"),
        ("Anthropic key", "sk-ant-", rf"{WIDE}{{24,300}}"),
        ("OpenRouter key", "sk-or-v1-", f"{HEX}{{40,80}}"),
        ("Langfuse key", "sk-lf-", UUID),
        ("key of a model provider", "sk-", rf"{WIDE}{{20,200}}"),
        ("Hugging Face token", "hf_ api_org_", f"{ALNUM}{{30,50}}"),
        ("Replicate token", "r8_", f"{ALNUM}{{30,50}}"),
        ("Groq key", "gsk_", f"{ALNUM}{{40,70}}"),
        ("xAI key", "xai-", f"{ALNUM}{{60,100}}"),
        ("Perplexity key", "pplx-", f"{ALNUM}{{40,64}}"),
        ("LangSmith key", "lsv2_pt_ lsv2_sk_ ls__", r"[0-9a-f_]{32,60}"),
        ("Pinecone key", "pcsk_", r"\w{40,100}"),
        ("NVIDIA key", "nvapi-", rf"{WIDE}{{50,100}}"),
        ("ElevenLabs key", "sk_", f"{HEX}{{40,64}}"),
        ("Tavily key", "tvly-", rf"{WIDE}{{24,60}}"),
        ("Firecrawl key", "fc-", f"{HEX}{{32}}"),
        ("Cerebras key", "csk-", "[a-z0-9]{40,60}"),
        ("Jina key", "jina_", f"{WIDE}{{40,80}}"),
        ("E2B key", "e2b_", f"{HEX}{{40}}"),
        ("Runpod key", "rpa_", f"{ALNUM}{{36,60}}"),
        ("Weights & Biases key", "wandb_v1_", rf"{WIDE}{{40,100}}"),
        ("Together key", "tgp_v1_", rf"{WIDE}{{36,80}}"),
        ("Fireworks key", "fw_", f"{ALNUM}{{22,40}}"),
        ("Voyage key", "pa-", rf"{WIDE}{{40,60}}"),
        # Messages and mail
        ("Slack token", "xoxb- xoxp- xoxa- xoxo- xoxs- xoxr- xoxe- xoxe. xoxc- xoxd- xapp-", r"[\w.%/+=-]{18,400}"),
        (
            "Slack webhook",
            "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
            r"[\w/]{30,120}",
        ),
        ("Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", r"\d{15,21}/[\w-]{50,90}"),
        ("Teams webhook", "outlook.office.com/webhook/ webhook.office.com/webhookb2/", r"[\w@/-]{60,300}"),
        ("Twilio key", "SK", f"{HEX}{{32}}"),
        ("SendGrid key", "SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),
        ("Mailgun key", "key-", f"{HEX}{{32}}"),
        ("Brevo key", "xkeysib- xsmtpsib-", f"{HEX}{{64}}-{ALNUM}{{12,20}}"),
        ("Resend key", "re_", f"{ALNUM}{{6,10}}_{ALNUM}{{20,32}}"),
        # Money and shops
        ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", f"{ALNUM}{{16,250}}"),
        ("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/=]{24,80}"),
        ("Square token", "sq0atp- sq0csp- EAAAE", rf"{WIDE}{{20,80}}"),
        ("Braintree token", "access_token$production$ access_token$sandbox$", f"[0-9a-z]{{16}}\\${HEX}{{32}}"),
        ("Shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_ shpua_", "[0-9a-fA-F]{32,64}"),
        ("Plaid token", "access-sandbox- access-production- access-development-", UUID),
        ("Flutterwave key", "FLWSECK-", r"[\w-]{20,60}"),
        ("Flutterwave key", "FLWSECK_TEST-", r"[\w-]{20,60}"),
        ("Razorpay key", "rzp_live_ rzp_test_", f"{ALNUM}{{14,24}}"),
        ("EasyPost key", "EZAK EZTK", f"{ALNUM}{{54}}"),
        ("Shippo token", "shippo_live_ shippo_test_", f"{HEX}{{40}}"),
        ("Mercado Pago token", "APP_USR-", r"[\w-]{40,120}"),
        # Work and data
        ("Databricks token", "dapi dose dkea", f"{HEX}{{32}}(?:-\\d)?"),
        ("Linear key", "lin_api_ lin_oauth_", f"{ALNUM}{{36,80}}"),
        ("Notion token", "ntn_ secret_", f"{ALNUM}{{40,60}}"),
        ("Airtable token", "pat", rf"{ALNUM}{{14}}\.{HEX}{{64}}"),
        ("Asana token", "1/ 2/", r"\d{12,20}(?:/\d{12,20})?:[0-9a-f]{32}"),
        ("ClickUp token", "pk_", r"\d{5,10}_[A-Z0-9]{32}"),
        ("Figma token", "figd_ figo_", rf"{WIDE}{{36,60}}"),
        ("Trello token", "ATTA", f"{HEX}{{60,70}}"),
        ("Typeform token", "tfp_", rf"{WIDE}{{40,80}}"),
        ("HubSpot token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", UUID),
        ("Contentful token", "CFPAT-", rf"{WIDE}{{40,50}}"),
        ("New Relic key", "NRAK- NRJS- NRII- NRIQ- NRRA-", r"[A-Za-z0-9_-]{19,50}"),
        ("Sentry token", "sntrys_ sntryu_ sntryi_ sntrya_", r"[\w=+/.-]{40,400}"),
        ("Grafana token", "glsa_ glc_ eyJrIjoi", r"[\w=+/-]{30,400}"),
        ("Honeycomb key", "hcaik_ hcxik_ hcalk_ hcxlk_", "[a-z0-9]{26,80}"),
        ("Dynatrace token", "dt0c01. dt0s01. dt0s16. dt0s02.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
        ("LaunchDarkly key", "sdk- api- mob-", UUID),
        ("PostHog key", "phx_", f"{ALNUM}{{40,60}}"),
        ("Mapbox token", "sk.eyJ", r"[\w-]{40,200}\.[\w-]{20,40}"),
        ("Dropbox token", "sl.", rf"{WIDE}{{100,1200}}"),
        ("Duffel token", "duffel_live_ duffel_test_", rf"{WIDE}{{40,60}}"),
        ("Facebook token", "EAAC EAAB EAAD EAAG EAAJ EAAM EAAL EAAP EAAN EAAO EAAF EAAH EAAI", f"{ALNUM}{{50,300}}"),
        ("Twitter bearer token", "AAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,150}"),
        ("Confluent secret", "cflt", r"[A-Za-z0-9+/]{40,80}"),
        ("MongoDB Atlas secret", "mdb_sa_sk_", rf"{WIDE}{{36,60}}"),
        ("Polar token", "polar_oat_ polar_pat_", f"{ALNUM}{{36,60}}"),
        ("Harness token", "pat. sat.", rf"{WIDE}{{22}}\.[0-9a-f]{{24}}\.{ALNUM}{{20}}"),
    )
)
"""Every kind, the special before the general. Bodies are a little wider than today's, because lengths change."""


@cache
def compile_format(prefix: str, body: str) -> re.Pattern[str]:
    """Return the pattern of a format. It is compiled when a text has the prefix: all of them together take 35 ms."""
    literal = re.escape(prefix)
    return re.compile(f"{literal}{_BOUNDARY.format(prefix=literal)}(?P<body>{body})(?![A-Za-z0-9])")


PREFIXES = [(each.kind, prefix, each.body) for each in FORMATS for prefix in each.prefixes.split()]
# Tokens that are recognised by their middle or their structure. Each pattern begins with a rare literal, which is
# searched for first: a pattern that could begin anywhere would take quadratic time on a hostile text.
_OTHERS = [
    (kind, needle, re.compile(pattern))
    for kind, needle, pattern in (
        (
            "JSON Web Token",
            "eyJ",
            r"eyJ(?<![\w-]eyJ)[\w-]{8,2000}+\.[\w-]{8,4000}+\.[\w-]{0,1000}+(?:\.[\w-]{1,1000}+){0,2}",
        ),
        ("Azure client secret", "Q~", r"(?<=[\w.~]{3}\d)Q~[\w.~-]{31,36}(?![A-Za-z0-9])"),
        ("Azure key", "AzFu", r"AzFu[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure key", "AzSe", r"AzSe[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure key", "ACDb", r"ACDb[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure key", "+ASt", r"\+ASt[\w+/-]{4,12}={0,2}(?![A-Za-z0-9])"),
        ("Azure DevOps token", "AZDO", r"(?<=[A-Za-z0-9]{40})AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
        ("Terraform token", ".atlasv1.", r"\.atlasv1\.[\w-]{40,100}"),
        ("Telegram bot token", ":AA", r"(?<=\d{8}):AA[\w-]{32,35}(?![\w-])"),
        ("Mailchimp key", "-us", r"(?<=[0-9a-f]{32})-us\d{1,2}(?![A-Za-z0-9])"),
        ("OpenAI key", "T3BlbkFJ", r"(?<=[A-Za-z0-9]{20})T3BlbkFJ[A-Za-z0-9]{20,80}"),
        ("New Relic key", "NRAL", r"(?<=[0-9a-f]{36})NRAL(?![A-Za-z0-9])"),
        ("Discord bot token", ".", r"\.(?<=[A-Za-z0-9_-]{23}\.)[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
        ("Vault token", "s.", r"s\.(?<![\w.]s\.)[A-Za-z0-9]{24}(?![\w.])"),
        (
            "API token",
            "_",
            r"_(?<=[a-z0-9]_)(?:live|test|prod|secret|sk|pat|token|key|api|priv|tok|pk)[_-][\w-]{20,200}",
        ),
    )
]
# Most services mark their tokens with a word and `_`, and new ones will too. Digests may look alike, but use one case.
_MARKED = re.compile(r"_(?<=[a-z]_)[A-Za-z0-9]{32,200}(?![\w-])")
# No token is shorter, and most texts have no word this long: then the hundreds of prefixes need not be tried.
_LONG = re.compile(r"\S{16}")
_BEFORE = re.compile(r"[\w.~+/-]{0,100}\Z")


def find_tokens(text: str) -> Iterator[Secret]:
    """Yield the keys and tokens that can be recognised by their prefix or structure. They may overlap."""
    if not _LONG.search(text):
        return
    yield from _own_keys(text)
    for kind, prefix, form in PREFIXES:
        if prefix in text:
            for match in compile_format(prefix, form).finditer(text):
                if _is_real(match["body"]):
                    yield Secret(kind, match.start(), match.end())
    for kind, needle, pattern in _OTHERS:
        if needle in text:
            for match in pattern.finditer(text):
                start = _where_it_begins(text, match.start())
                if _is_strictly_random(text[start : match.end()]):
                    yield Secret(kind, start, match.end())
    for match in _MARKED.finditer(text):
        if is_mixed(match[0]):
            yield Secret("API token", _where_it_begins(text, match.start()), match.end())


def _own_keys(text: str) -> Iterator[Secret]:
    for match in OWN_KEY.finditer(text):
        if is_well_formed(match[0]):
            yield Secret("BigMind key", match.start(), match.end())


OWN_KEY = re.compile(f"{PREFIX}{ALNUM}{{{KEY_CHARS - len(PREFIX)}}}")


def _where_it_begins(text: str, middle: int) -> int:
    found = _BEFORE.search(text, max(0, middle - 100), middle)
    return found.start() if found else middle


def _is_real(body: str) -> bool:
    if is_placeholder(body):
        return False
    # A key may be of letters alone by chance: `AKIAZEJXHXYDOPBAIXGJ`.
    return not is_plain(body) or (body.isalnum() and not body.islower() and entropy(body) >= 2.8)


def _is_strictly_random(token: str) -> bool:
    """Whether it mixes letters and digits at random and contains no words."""
    return not has_placeholder(token) and not is_plain(token) and entropy(token) >= 3.0


def find_private_keys(text: str) -> Iterator[Secret]:
    """Find private keys in PEM, OpenSSH, PGP and PuTTY form. A frame that is mentioned without a body is none."""
    if any(mark in text for mark in ("PRIVATE KEY", "PuTTY-User-Key", "Private-Lines", "Private-MAC")):
        yield from _find_framed(text)
        yield from _find_headless(text)
    for match in _FRAMELESS.finditer(text):
        if len(match[0]) >= BODY_CHARS + 20:
            yield Secret(KIND, match.start(), match.start() + len(match[0].rstrip()))
    for match in _ENCODED_FRAME.finditer(text):
        if b"PRIVATE KEY" in a2b_base64(match[0][:80]):
            yield Secret(KIND, match.start(), match.end())


def _find_framed(text: str) -> Iterator[Secret]:
    for begin in _BEGIN.finditer(text):
        body = _BODY.match(text, begin.end())
        if body is None or len(body["key"]) < BODY_CHARS:
            continue
        end = _END.match(text, body.end())
        last = end.end() if end else body.start("key") + len(body["key"].rstrip(" \n\r\"'`,"))
        yield Secret(KIND, begin.start(), last)


def _find_headless(text: str) -> Iterator[Secret]:
    """Find bodies whose beginning was cut off. What stands between two ends is read once."""
    done = 0
    for end in _END.finditer(text):
        before, done = text[done : end.start()], end.end()
        lines = _HEADLESS.match(before[::-1])
        body = before[len(before) - lines.end() :].lstrip(" \t\r\n\"'`,>|\\") if lines else ""
        if len(body) >= BODY_CHARS and not is_plain(body):
            yield Secret(KIND, end.start() - len(body), end.end())

"""Formats: the keys and tokens that tell what they are by how they begin."""

from dataclasses import dataclass

ALNUM = "[A-Za-z0-9]"
WIDE = r"[\w-]"
HEX = "[0-9a-f]"
UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


@dataclass(frozen=True)
class SecretFormat:
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

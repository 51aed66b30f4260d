"""Tags that a text earns by what it mentions: packages in backticks, and technology by name."""

import re

from knowledge.parsers.entries import slug
from knowledge.parsers.outline import inline_tokens

INFERRED = 8
READ_CHARS = 20_000
PACKAGE = re.compile(r"@[\w.-]+/(?P<scoped>[\w.-]+)|(?P<kebab>[a-z][a-z0-9]*(?:-[a-z0-9]+)+)")
WORD = re.compile(r"[a-z0-9#+]+")

NAMES = """
    ansible aws axios azure babel bash bun cache caching celery cors css csrf cypress datadog django docker
    elasticsearch eslint fastapi flask gcp git github gitlab grafana graphql grpc html http jest jwt kafka kotlin
    lambda linux mcp mypy mysql nginx node numpy oauth openapi openai pandas pgvector playwright pnpm postgres prisma
    prometheus pydantic pytest python rabbitmq react redis redux ruff rust s3 sentry sqlite sql storybook tailwind
    terraform turborepo typescript unicode vercel vite vitest vue webpack websocket yaml zod zustand
"""
TECHNOLOGIES: dict[str, str] = {name: name for name in NAMES.split()} | {
    "auth": "auth",
    "authentication": "auth",
    "authorization": "auth",
    "flaky": "flaky-test",
    "k8s": "kubernetes",
    "kubernetes": "kubernetes",
    "lint": "lint",
    "linter": "lint",
    "migration": "migration",
    "migrations": "migration",
    "nodejs": "node",
    "postgresql": "postgres",
    "route": "routing",
    "routes": "routing",
    "routing": "routing",
    "timezone": "timezone",
    "timezones": "timezone",
    "websockets": "websocket",
}
"""The tag of each word; what has several spellings has one tag."""
PHRASES = {"foreign key": "foreign-key", "next.js": "nextjs", "github actions": "ci", "rate limit": "rate-limit"}


def infer_tags(text: str) -> list[str]:
    """Return up to eight tags for what a text mentions, in the order in which it does."""
    lowered = text[:READ_CHARS].casefold()
    phrases = [tag for phrase, tag in PHRASES.items() if phrase in lowered]
    words = [TECHNOLOGIES[word] for word in WORD.findall(lowered) if word in TECHNOLOGIES]
    return list(dict.fromkeys([*_packages(text), *phrases, *words]))[:INFERRED]


def _packages(text: str) -> list[str]:
    spans = [token.content.strip() for token in inline_tokens(text) if token.type == "code_inline"]
    found = [match for span in spans if (match := PACKAGE.fullmatch(span))]
    return [tag for match in found if (tag := slug(match["scoped"] or match["kebab"]))]

"""The lines that `bigmind up` prints when it serves: where to go, and what to give an agent."""

import json


def ready_lines(url: str, sign_in_link: str | None, key: str | None, home: str) -> str:
    """Return the ready lines. The key is shown at the first start only; its hash alone is kept."""
    lines = ["", f"BigMind is ready: {url}", ""]
    if sign_in_link:
        lines += [f"  Sign in (once, within a day):  {sign_in_link}"]
    if key:
        lines += [f"  Your API key (shown only now): {key}", "", *_snippets(url, key), ""]
    else:
        lines += [f"  Connect an agent:              {url}/connect/"]
    return "\n".join([*lines, f"  Data and logs:                 {home}", "", "Ctrl-C stops it. The data stays."])


def _snippets(url: str, key: str) -> list[str]:
    header = f"Authorization: Bearer {key}"
    server = {"type": "http", "url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {key}"}}
    configuration = json.dumps({"mcpServers": {"bigmind": server}}, indent=2)
    return [
        "  Connect an agent, for example Claude Code:",
        f"    claude mcp add --transport http bigmind {url}/mcp --header {json.dumps(header)}",
        "",
        "  or any other MCP client:",
        *(f"    {line}" for line in configuration.splitlines()),
    ]

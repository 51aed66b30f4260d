"""The second door of MCP: apps that know no key ask a person to let them in (OAuth 2.1, RFC 9728, 8414, 7591)."""

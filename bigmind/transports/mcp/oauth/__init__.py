"""OAuth for MCP: apps without a key ask a person for access (OAuth 2.1, RFC 9728, 8414, 7591)."""

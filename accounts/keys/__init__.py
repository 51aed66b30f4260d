"""API keys: made, looked up, rotated and revoked."""

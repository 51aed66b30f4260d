"""Proposals: what waits for curators, and everything they need to decide."""

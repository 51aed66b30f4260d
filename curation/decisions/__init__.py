"""Decisions about company knowledge: what curators do, its history, and undoing it."""

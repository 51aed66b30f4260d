"""Triggers: which acts they fire on, how far they go, and what a curator sees before deciding."""

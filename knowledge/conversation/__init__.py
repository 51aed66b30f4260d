"""Conversation: exchanges, the session that a call belongs to, and one name for each project."""

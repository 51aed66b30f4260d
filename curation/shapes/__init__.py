"""Replies about company knowledge as it is decided about."""

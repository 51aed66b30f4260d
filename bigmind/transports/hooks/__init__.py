"""Hooks: clients report what happens in a conversation, and get back what belongs into it."""

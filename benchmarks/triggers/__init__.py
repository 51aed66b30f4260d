"""Triggers: whether they fire before the mistakes they are about, and how long a client waits for that."""

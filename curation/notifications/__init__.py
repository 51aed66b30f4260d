"""Notifications: notices in the app, webhooks, e-mail and digests."""

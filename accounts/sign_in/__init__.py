"""Signing in: passwords, links, second factors, single sign-on, and the limits on failed attempts."""

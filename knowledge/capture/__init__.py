"""Capture: what hooks of clients report, what they get back, and what is kept of it."""

"""Lessons: what is known here about an error, found by its fingerprint."""

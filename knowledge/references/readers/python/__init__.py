"""Readers of commands that are defined in Python."""

"""Readers of what programs print for --help."""

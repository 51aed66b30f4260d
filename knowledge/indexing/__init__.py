"""Indexing: embedding passages as work waits, embedding all again, and gaps of the index."""

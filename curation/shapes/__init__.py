"""Replies of the operations of curation."""

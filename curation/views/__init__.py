"""The pages of curation and company knowledge."""

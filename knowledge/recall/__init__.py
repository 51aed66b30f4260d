"""Recall: one question over everything: hits, the time it is about, episodes, what fits the reply."""

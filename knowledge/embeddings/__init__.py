"""Embedders: the built-in model, any OpenAI-compatible endpoint, and what happens while the endpoint fails."""

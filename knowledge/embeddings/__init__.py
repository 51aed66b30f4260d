"""Turning texts into vectors: the built-in model, any OpenAI-compatible endpoint, and what to do when it is away."""

"""What works on BigMind itself: generated documents, texts to translate. It is no part of what is installed."""

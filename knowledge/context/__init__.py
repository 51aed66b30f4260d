"""Context: sessions from their start, and what an agent reads first."""

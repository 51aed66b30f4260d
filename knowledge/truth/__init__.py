"""Truth: near-duplicates, contradictions, and facts that take the place of others."""

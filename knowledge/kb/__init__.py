"""The knowledge base and company knowledge: entries, their sources, imports and exports."""

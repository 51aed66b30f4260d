"""Documentation: references to commands, endpoints and guides, looked up, checked and imported."""

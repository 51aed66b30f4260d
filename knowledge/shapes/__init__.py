"""What the operations about what is known reply."""

"""Memory: facts, notes, hypotheses, and what their owner sees and does with all of them."""

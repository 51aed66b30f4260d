"""Exposures: what agents were sent, cited and called misleading; unanswered questions; insights."""

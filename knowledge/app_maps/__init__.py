"""App maps: knowledge about outside apps, resolved, learned, healed, imported and exported."""

"""App maps: what is known of outside apps, resolved, learned, healed, imported and exported."""

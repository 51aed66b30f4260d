"""Text: what every text that is stored or shown goes through; tokens, periods and languages of texts."""

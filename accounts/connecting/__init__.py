"""What `bigmind connect` does with files: pure of Django, so that it works where no database is."""

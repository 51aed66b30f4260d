"""What `bigmind connect` does with files, without Django, so that it works without a database."""

"""App maps as files: YAML text, folders and archives."""

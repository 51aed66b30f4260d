"""Backup and restore of the whole instance."""

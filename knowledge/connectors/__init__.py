"""Connectors: instruments that read the apps, tables and schemas of an outside system. One small file each."""

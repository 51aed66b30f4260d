"""Consoles written in TypeScript: the parts that follow what a typed line goes through in their code."""

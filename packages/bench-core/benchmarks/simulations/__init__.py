"""Simulated agents, gates, looks and rankings: what the tables of docs/coverage-tables.md are made with."""

"""Rules that read English criteria and the values of records; no model."""

"""The stand-in sites, one module each, with their data files."""

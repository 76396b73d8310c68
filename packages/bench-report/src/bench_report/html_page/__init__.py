"""The report as one HTML file: summary, charts, a table of all trials and their evidence."""

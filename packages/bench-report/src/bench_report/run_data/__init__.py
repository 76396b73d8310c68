"""Run folders as reports read them, and their trials and tasks as rows."""

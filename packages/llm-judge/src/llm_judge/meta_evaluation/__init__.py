"""Evaluate a judge: labelled sets, wrong states, planted text, scripted judges."""

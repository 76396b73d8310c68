"""The rules for evals: queries, scripts, a judge's checks, and the decision from all of them."""

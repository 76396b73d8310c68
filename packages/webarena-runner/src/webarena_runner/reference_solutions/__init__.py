"""Reference solutions: the traffic and the answer that a task's definition expects, without any agent.

The real evaluator's scores of them show which tasks can be scored at all (`scorability`), and together
they are a corpus of all 812 tasks for measurements and comparisons of evaluators.
"""

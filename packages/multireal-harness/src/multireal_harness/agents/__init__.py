"""Who works on a task: browser-use, Claude's computer use, any model with tools, scripts, yours."""

from .report import LintReport as LintReport
from .report import lint_tasks as lint_tasks
from .rules import lint_task as lint_task

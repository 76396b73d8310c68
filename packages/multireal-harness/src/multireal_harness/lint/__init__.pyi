from .findings import EvalReport as EvalReport
from .findings import Finding as Finding
from .findings import Fix as Fix
from .report import LintReport as LintReport
from .report import fixed_definition as fixed_definition
from .report import lint_tasks as lint_tasks
from .report import write_fixed as write_fixed
from .rules import lint_task as lint_task

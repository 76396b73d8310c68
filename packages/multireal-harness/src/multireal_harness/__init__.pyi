from .definitions import Definition as Definition
from .definitions import Eval as Eval
from .definitions import Site as Site
from .eval_rules.queries import evaluate_query as evaluate_query
from .eval_rules.queries import matches as matches
from .eval_rules.queries import query_checks as query_checks
from .options import MultiRealRunOptions as MultiRealRunOptions
from .runs import run as run
from .states.files import EndStates as EndStates
from .states.files import load_states as load_states
from .states.files import read_states as read_states
from .tasks import TaskQuery as TaskQuery
from .tasks import load_definitions as load_definitions
from .tasks import load_tasks as load_tasks
from .tasks import select_tasks as select_tasks

__version__: str

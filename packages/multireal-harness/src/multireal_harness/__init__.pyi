from .options import MultiRealRunOptions as MultiRealRunOptions
from .runs import run as run
from .tasks import TaskQuery as TaskQuery
from .tasks import load_definitions as load_definitions
from .tasks import load_tasks as load_tasks
from .tasks import select_tasks as select_tasks

__version__: str

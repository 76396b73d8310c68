from .agents.declaration import answer_schema as answer_schema
from .benchmark import WebArenaBenchmark as WebArenaBenchmark
from .config import load_config as load_config
from .evaluation import evaluate as evaluate
from .options import WebArenaRunOptions as WebArenaRunOptions
from .runs import run as run
from .tasks import TaskQuery as TaskQuery
from .tasks import load_tasks as load_tasks
from .tasks import select_tasks as select_tasks

__version__: str

from .benchmark import WaaBenchmark as WaaBenchmark
from .options import WaaRunOptions as WaaRunOptions
from .options import WaaTaskOptions as WaaTaskOptions
from .runs import run as run
from .tasks import TaskQuery as TaskQuery
from .tasks import load_tasks as load_tasks
from .tasks import select_tasks as select_tasks
from .vm import SyncVmClient as SyncVmClient
from .vm import VmClient as VmClient
from .vm import VmOptions as VmOptions

__version__: str

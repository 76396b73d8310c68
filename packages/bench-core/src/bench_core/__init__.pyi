from .errors import BenchError as BenchError
from .protocols import Agent as Agent
from .protocols import Judge as Judge
from .protocols import Reporter as Reporter
from .protocols import TrialContext as TrialContext
from .protocols import World as World
from .records import Check as Check
from .records import Status as Status
from .records import Step as Step
from .records import Task as Task
from .records import TrialKey as TrialKey
from .records import TrialResult as TrialResult
from .records import Usage as Usage
from .trial import Benchmark as Benchmark
from .trial import Evaluation as Evaluation
from .trial import Evidence as Evidence
from .trial import TrialEnvironment as TrialEnvironment

__version__: str

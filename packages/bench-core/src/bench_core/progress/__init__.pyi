from .interface import NoProgress as NoProgress
from .interface import Progress as Progress
from .interface import RunStart as RunStart

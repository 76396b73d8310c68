from .interface import NoProgress as NoProgress
from .interface import Progress as Progress
from .interface import RunStart as RunStart
from .json_lines import JsonProgress as JsonProgress
from .live import LiveProgress as LiveProgress
from .plain import PlainProgress as PlainProgress
from .selection import make_progress as make_progress

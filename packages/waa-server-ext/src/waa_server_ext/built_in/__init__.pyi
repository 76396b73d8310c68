from .solutions import Solution as Solution
from .world import SimulatedDesktopWorld as SimulatedDesktopWorld
from .world import built_in_tasks as built_in_tasks

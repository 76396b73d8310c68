from .builtin import BuiltInWorld as BuiltInWorld
from .solutions_file import Solution as Solution
from .solutions_file import load_solutions as load_solutions

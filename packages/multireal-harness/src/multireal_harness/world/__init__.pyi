from .builtin import BuiltInWorld as BuiltInWorld
from .launch import built_in_world as built_in_world
from .solutions_file import Solution as Solution
from .solutions_file import load_solutions as load_solutions

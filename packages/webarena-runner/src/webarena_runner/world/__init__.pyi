from .builtin import BuiltInWorld as BuiltInWorld
from .scripts import scripted_task_ids as scripted_task_ids

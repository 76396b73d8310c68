from .api.simulated_vm import SimulatedVm as SimulatedVm
from .desktop.recorder import Recorder as Recorder
from .scene import Scene as Scene
from .scene import load_scene as load_scene
from .scene import snapshot as snapshot

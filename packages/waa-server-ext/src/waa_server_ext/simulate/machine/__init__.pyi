from .computer import Machine as Machine

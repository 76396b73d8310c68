from .files import SealedFiles as SealedFiles
from .files import answers_of as answers_of
from .files import sealed_files as sealed_files
from .machine import Ability as Ability
from .machine import how_to_seal as how_to_seal
from .machine import sealed_command as sealed_command

from .launch import BuiltInDesktops as BuiltInDesktops
from .launch import ServerAnswers as ServerAnswers
from .launch import built_in_world as built_in_world
from .launch import look_around as look_around

from .isolated import OUTPUT as OUTPUT
from .model_calls import Upstream as Upstream
from .placement import agent_of as agent_of
from .variables import agent_variables as agent_variables

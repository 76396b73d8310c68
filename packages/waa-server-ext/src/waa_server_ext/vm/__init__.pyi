from .client import VmTransportError as VmTransportError
from .exchanges import Body as Body
from .exchanges import Exchange as Exchange
from .state import VmState as VmState

from .client import VmTransportError as VmTransportError
from .exchanges import Body as Body
from .exchanges import VmExchange as VmExchange
from .state import VmState as VmState

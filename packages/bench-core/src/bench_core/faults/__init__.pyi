from .provider_errors import ErrorKind as ErrorKind
from .provider_errors import error_kind as error_kind
from .table import FAULTS as FAULTS
from .table import FaultEvidence as FaultEvidence
from .table import FaultKind as FaultKind
from .table import fault_of as fault_of
from .table import recorded_fault as recorded_fault

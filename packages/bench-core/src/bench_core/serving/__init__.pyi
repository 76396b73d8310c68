from .hosts import check_token as check_token
from .hosts import foreign_origin as foreign_origin
from .hosts import host_name as host_name
from .hosts import is_loopback as is_loopback
from .requests import RefusedRequestError as RefusedRequestError
from .streams import refusal as refusal
from .threads import BoundedHandler as BoundedHandler
from .threads import BoundedServer as BoundedServer

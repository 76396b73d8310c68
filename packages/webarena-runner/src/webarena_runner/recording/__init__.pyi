from .browser_use_har import include_http_in_har as include_http_in_har
from .har import Har as Har
from .har import RecordingLimits as RecordingLimits
from .recorder import HarRecorder as HarRecorder

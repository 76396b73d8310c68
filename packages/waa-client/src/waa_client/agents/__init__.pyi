from .checkout import CheckoutAgent as CheckoutAgent
from .simple import HttpAgent as HttpAgent
from .simple import ReplayAgent as ReplayAgent
from .vision import VisionAgent as VisionAgent

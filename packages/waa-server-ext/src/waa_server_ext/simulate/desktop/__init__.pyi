from .accessibility import accessibility_xml as accessibility_xml
from .composition import Desktop as Desktop

from .app import create_app as create_app
from .app import make_blueprint as make_blueprint
from .service import Service as Service
from .service import ServiceSettings as ServiceSettings
from .startup import running_server as running_server

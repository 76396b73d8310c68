from __future__ import annotations

import sys
from pathlib import Path

# a server names its benchmark by module, so the module has to be found by its name
sys.path.insert(0, str(Path(__file__).parent))

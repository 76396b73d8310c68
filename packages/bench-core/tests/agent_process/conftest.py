from __future__ import annotations

import sys
from pathlib import Path

# agents' processes import from where this one does
sys.path.insert(0, str(Path(__file__).parent))

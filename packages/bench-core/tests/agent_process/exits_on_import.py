"""An agent's module that ends whoever imports it."""

import os
import sys

sys.stderr.write("importing is too much\n")
sys.stderr.flush()
os._exit(9)

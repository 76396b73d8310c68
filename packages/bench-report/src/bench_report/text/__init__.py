"""How figures and texts are written, the same in every format; texts of unknown origin are made safe to show."""

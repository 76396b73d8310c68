"""Whether quoted evidence is genuine and proves a criterion; no model."""

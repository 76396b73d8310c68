"""A tree with the shape of Windows Agent Arena's, written for these tests; none of its code is upstream's."""

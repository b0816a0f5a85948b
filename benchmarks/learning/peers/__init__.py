"""Models that ours are compared with. Those of other packages are imported only where they are built."""

"""The compiled model: nodes, the compiler's passes, blocks made of blocks, and what can be said of a graph."""

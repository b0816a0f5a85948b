"""The compiled model: nodes, the compiler's passes, blocks made of blocks, and measurements of a graph."""

"""The compiled model: nodes, the compiler's passes, blocks made of blocks or graphs, and measurements of a graph."""

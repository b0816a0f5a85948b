"""The compiled model: nodes, the compiler's passes, blocks made of blocks, graphs in blocks, measurements of a graph."""

"""The compiled model: nodes, compiler passes, blocks made of blocks, graphs in blocks, measurements of a graph."""

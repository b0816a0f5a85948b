"""Pictures and pages: graphs, curves, attention weights."""

"""What the optimiser of a run changes, and how fast.

optimisers.py    optimisers by name, and which weights decay
node_rates.py    learning rates and decay by node, layer-wise decay of the rate
schedules.py     the learning rate as a function of the step
frozen_nodes.py  which nodes are frozen until when
"""

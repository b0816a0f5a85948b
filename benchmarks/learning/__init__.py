"""How well models learn: ours and a peer on the same batches, for the same number of steps. See __main__.py."""

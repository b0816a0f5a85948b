"""Blocks that run step by step, as autoregressive decoding does, and over whole sequences in training."""

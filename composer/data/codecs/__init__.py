"""Codecs: the values of a field to tensors and back."""

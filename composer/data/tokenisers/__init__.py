"""Tokenisers: texts to token ids and back, and how texts are cut before."""

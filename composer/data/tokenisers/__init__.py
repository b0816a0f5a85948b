"""Tokenisers: texts to token ids and back, and how texts are cut before.

tokeniser.py             the settings of tokenisers, the protocol of a type, and a learned tokeniser with special tokens
characters_and_bytes.py  the types characters and bytes
trained_tokenisers.py    the types words, bpe and wordpiece, by the library ``tokenizers``
auto.py                  the type auto, which chooses another by statistics of the texts
word_shapes.py           unknown words by their case and ending
pieces.py                running text in pieces that end between words
"""

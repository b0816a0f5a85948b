"""Codecs: the values of a field to tensors and back.

codec.py              the base class, and that of sequences of tokens
text_codec.py         texts, by a tokeniser
words_codec.py        sequences that are already cut into words or tags
joined_codec.py       a sequence made of parts, each with a vocabulary of its own
kept_texts.py         the texts of rows whose tokens do not give them back
class_codec.py        classes
number_codec.py       vectors and sequences of vectors, standardised
mel.py                sounds as log-mel frames
token_statistics.py   how often tokens occur
word_dropout.py       rare words replaced by <unk> in training
"""

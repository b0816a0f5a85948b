"""How BLEU cuts a text into words: the tokenisations of sacreBLEU (Post, 2018) that need no model or dictionary.

    13a     that of mteval-v13a, the standard of WMT for languages with spaces between words
    zh      Chinese: every Chinese character is a word, all else as in 13a
    char    every character is a word
    none    words are between white space: symbols such as phonemes, or a text that is cut into words already

These are written anew after sacreBLEU's definitions; tests compare them with the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable

#: Entities of SGML, in the order in which mteval replaces them.
ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

#: Where 13a puts spaces: around most ASCII punctuation, around periods and commas that are not inside a number, and
#: after a dash that follows a digit.
RULES = tuple(
    (re.compile(pattern), spaced)
    for pattern, spaced in (
        (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9])([\.,])", r"\1 \2 "),
        (r"([\.,])([^0-9])", r" \1 \2"),
        (r"([0-9])(-)", r"\1 \2 "),
    )
)

#: What sacreBLEU takes for Chinese: characters, punctuation and symbols. Its list writes U+20000 to U+2A6D6 as escapes
#: of four digits, which gives U+2001 to U+2A6D instead.
CHINESE = re.compile(
    "([\u2001-\u2a6d"
    "\u3400-\u4db5\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\uff00-\uffef\u2e80-\u2eff"
    "\u3000-\u303f\u31c0-\u31ef\u2f00-\u2fdf\u2ff0-\u2fff\u3100-\u312f\u31a0-\u31bf\ufe10-\ufe1f\ufe30-\ufe4f"
    "\u3200-\u32ff\u3300-\u33ff])"
)


def words_13a(text: str) -> list[str]:
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, character in ENTITIES:
            text = text.replace(entity, character)
    return _spaced(f" {text} ")


def words_zh(text: str) -> list[str]:
    return _spaced(CHINESE.sub(r" \1 ", text.strip()))


def _spaced(text: str) -> list[str]:
    for pattern, spaced in RULES:
        text = pattern.sub(spaced, text)
    return text.split()


#: The tokenisations by the names that sacreBLEU's signature gives them.
BLEU_WORDS: dict[str, Callable[[str], list[str]]] = {
    "13a": words_13a,
    "zh": words_zh,
    "char": lambda text: " ".join(text).split(),
    "none": str.split,
}

"""The differences between two graphs, whose nodes and inputs are matched by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from composer.views.drawing import captions
from composer.views.drawing.captions import Summary

MINUS = "\u2212"


@dataclass(frozen=True)
class Change:
    """What differs, and its values; None in a graph that does not have it."""

    what: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.what}: {self.after}"
        if self.after is None:
            return f"{MINUS} {self.what}: {self.before}"
        return f"{self.what}: {self.before} → {self.after}"

    def shown(self, after: bool) -> str | None:
        """In the graph after: the old and the new value; in the graph before: the old one, if there is one."""
        return str(self) if after else None if self.before is None else f"{self.what}: {self.before}"


@dataclass(frozen=True)
class Difference:
    added: frozenset[str]
    removed: frozenset[str]
    changed: Mapping[str, tuple[Change, ...]]  # by name, for nodes and inputs of both graphs that differ
    sentence: str

    def mark(self, name: str) -> str:
        """One of added, removed, changed, same."""
        return (
            "added" if name in self.added
            else "removed" if name in self.removed
            else "changed" if name in self.changed
            else "same"
        )  # fmt: skip


def differences(before: Summary, after: Summary) -> Difference:
    old, new = _entries(before), _entries(after)
    added = frozenset(new.keys() - old.keys())
    removed = frozenset(old.keys() - new.keys())
    changed = {}
    for name in new:
        if name in old and (changes := tuple(_changes(old[name], new[name]))):
            changed[name] = changes
    return Difference(added, removed, changed, _sentence(len(changed), len(added), len(removed), before, after))


def _entries(summary: Summary) -> dict[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in (*summary["inputs"], *summary["nodes"])}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    left, right = ({fact: value for fact, value in _facts(each).items() if value is not None} for each in (old, new))
    contents = ("node", "contents")
    if any(left.get(fact) != right.get(fact) for fact in left.keys() | right.keys() if fact[0] == "setting"):
        left.pop(contents, None)  # the contents repeat the settings, less exactly
        right.pop(contents, None)
    types = {name for kind, name in left.keys() | right.keys() if kind == "setting" and name.endswith(".type")}
    types = {name for name in types if left.get(("setting", name)) != right.get(("setting", name))}
    swapped = [name.removesuffix("type") for name in types]
    if left.get(("node", "block")) != right.get(("node", "block")):
        swapped.append("")  # the whole node is another block
    for fact in [*right, *(fact for fact in left if fact not in right)]:
        before, after = left.get(fact), right.get(fact)
        own = fact[0] == "setting" and fact[1] not in types and fact[1].startswith(tuple(swapped))
        if before != after and not (own and None in (before, after)):  # a key of one of two blocks says nothing new
            yield Change(fact[1], before, after)


def _facts(entry: Mapping[str, Any]) -> dict[tuple[str, str], str | None]:
    """All facts of a node or an input, the most informative first; None where it has none.

    The first half of a key is a category, because a port or a setting may have the name of another fact.
    """
    if "block" not in entry:
        return {
            ("input", "kind"): captions.field(entry),
            ("input", "shape"): captions.shape(entry["shape"]),
            ("input", "generated"): captions.value(bool(entry.get("generated", False))),
        }
    return {
        ("node", "block"): captions.block(entry),
        ("node", "contents"): "; ".join(entry.get("contents", ())) or None,
        **{("port", f"from {port}"): ", ".join(sources) for port, sources in entry["from"].items()},
        **{("setting", key): captions.value(setting) for key, setting in entry.get("settings", {}).items()},
        ("node", "predicts"): entry.get("predicts") or None,
        ("node", "shares"): ", ".join(entry.get("shares", ())) or None,
        ("node", "causal"): captions.value(entry.get("causal")),
        ("node", "runs"): captions.value(entry.get("runs")),
        ("node", "shape"): captions.shape(entry["output"]["shape"]),
        ("node", "parameters"): f"{entry.get('parameters', 0):,}",
    }


def _sentence(changed: int, added: int, removed: int, before: Summary, after: Summary) -> str:
    parts = [f"{changed} node{'s differ' if changed != 1 else ' differs'}"] if changed else []
    parts += [f"{added} added"] if added else []
    parts += [f"{removed} removed"] if removed else []
    for what, key in (("parameters", "parameters"), ("FLOPs per token", "flops_per_token")):
        old, new = (summary.get("totals", {}).get(key, 0) for summary in (before, after))
        parts += [f"{what} {_step(old, new)}"] if old != new else []
    return ", ".join(parts) or "no differences"


def _step(old: float, new: float) -> str:
    left, right = captions.count(old), captions.count(new)
    if left == right:  # rounding hides the difference
        left, right = f"{old:,}", f"{new:,}"
    if not old:
        return f"{left} → {right}"
    percent = 100 * (new - old) / old
    return f"{left} → {right} ({percent:+.{0 if abs(percent) >= 1 else 2}f} %)"

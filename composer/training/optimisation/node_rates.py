"""Learning rates and weight decay by node, and layer-wise decay of the learning rate.

    rate of a layer = learning_rate * layer_decay ** (number of layers between it and the head)

A block's class declares the weights that never decay and those with a factor of the rate (``no_decay`` and
``rate_factors`` in capabilities.py). Otherwise weight decay applies to matrices, and not to biases, norms and other
vectors. A declared factor multiplies the rate that holds for the weight's node and layer.

Discriminative fine-tuning (Howard and Ruder, 2018; Clark et al., 2020): a head learns at the full rate, the layer below
it at ``layer_decay`` times that rate, and so on down to the embedding. A rate that is given for a node holds for all
its weights, whatever their layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Annotated, Any

from torch import nn

from composer.core.block import Range, Scale
from composer.core.capabilities import declared, offers
from composer.core.problems import Report, UserError, did_you_mean, listed
from composer.graph.graph import Graph
from composer.training.optimisation.frozen_nodes import without_weights

Decay = Annotated[float, Range(low=0)]
Groups = list[dict[str, Any]]

#: The factor of a group's learning rate, until the optimiser is made. It is no key of torch.
SCALE = "scale"


@dataclass(frozen=True, kw_only=True)
class NodeSettings:
    """What the optimiser does differently for one node; None: as for all others."""

    learning_rate: Scale | None = None
    weight_decay: Decay | None = None


@dataclass(frozen=True, kw_only=True)
class GroupSettings:
    """The keys of the section ``optimiser`` that every optimiser has."""

    groups: dict[str, NodeSettings] | None = None
    layer_decay: Annotated[float, Range(above=0, high=1)] | None = None

    def check(self, meta: Graph, frozen: Collection[str], report: Report) -> None:
        """Report settings of nodes that do not exist or never learn.

        frozen: the nodes that are frozen for the whole run
        """
        for name, settings in (self.groups or {}).items():
            path = f"optimiser.groups.{name}"
            written = next((f"{path}.{key}" for key, value in asdict(settings).items() if value is not None), path)
            if (problem := without_weights(name, meta)) is not None:
                report.add(path, problem, origin=written)
            elif settings == NodeSettings():
                report.add(path, "sets neither learning_rate nor weight_decay. Set one, or remove it.")
            elif name in frozen:
                report.add(path, f"has no effect: '{name}' is frozen (init.freeze).", origin=written)


@dataclass(frozen=True)
class Declared:
    """What the blocks of a graph declare of their weights, by the weights' names in the graph."""

    no_decay: frozenset[str] = frozenset()
    rate_factors: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def by(cls, graph: nn.Module) -> Declared:
        exempt: set[str] = set()
        factors: dict[str, float] = {}
        for path, module in graph.named_modules():
            own = declared(module, "rate_factors")
            if declared(module, "no_decay") or own:
                _check_declared(module)
            exempt |= {f"{path}.{name}" for name in declared(module, "no_decay")}
            factors |= {f"{path}.{name}": factor for name, factor in own.items()}
        return cls(frozenset(exempt), factors)


def _check_declared(block: nn.Module) -> None:
    """Raise an error if a block declares a weight that it does not have, or a factor that would not be one."""
    have, factors = [name for name, _ in block.named_parameters()], declared(block, "rate_factors")
    where = f"{type(block).__module__}.{type(block).__qualname__}"
    for name in (*declared(block, "no_decay"), *factors):
        if name not in have:
            hint = did_you_mean(name, have)
            raise UserError(f"{where} declares '{name}', but it has no such weight.{hint}  (weights: {listed(have)})")
    for name, factor in factors.items():
        if not isinstance(factor, int | float) or not 0 < factor <= 1:
            raise UserError(f"{where} says rate_factors = {{'{name}': {factor!r}}}, expected a number above 0 up to 1.")


#: All nodes alike, and no weight with a declaration.
ALIKE, NOTHING = GroupSettings(), Declared()


def grouped(
    parameters: Iterable[tuple[str, nn.Parameter]],
    settings: GroupSettings = ALIKE,
    above: Mapping[str, int] = MappingProxyType({}),
    declared: Declared = NOTHING,
) -> Groups:
    """Parameter groups with a rate and a decay each; those with the optimiser's own rate come first.

    above: the number of layers between each parameter and the head; needed for ``layer_decay``
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for name, parameter in parameters:
        if not parameter.requires_grad:
            continue
        node = (settings.groups or {}).get(_node(name), NodeSettings())
        decays = parameter.dim() >= 2 and name not in declared.no_decay
        decay = node.weight_decay if decays else 0.0
        scale = declared.rate_factors.get(name, 1.0)
        if settings.layer_decay is not None and node.learning_rate is None:
            scale *= settings.layer_decay ** above[name]
        group = found.setdefault((node.learning_rate, decay, scale), {"params": [], SCALE: scale})
        group |= {} if node.learning_rate is None else {"lr": node.learning_rate}
        group |= {} if decay is None else {"weight_decay": decay}
        group["params"].append(parameter)
    return sorted(found.values(), key=lambda group: ("lr" in group, -group[SCALE], "weight_decay" in group))


def layers_above(graph: Graph) -> dict[str, int]:
    """The number of layers with weights on the longest path between each parameter and a head."""
    below: dict[str, int] = {}  # of each node: the layers between its inputs and a head
    found: dict[str, int] = {}
    for node in reversed(graph.plan.nodes):
        module = graph.nodes[node.name]
        readers = (below[other.name] for other in graph.plan.nodes if node.name in other.inputs)
        top = max(readers, default=0)
        layers = _weight_layers(module)
        below[node.name] = top + len(layers)
        number = {weight: n for n, parts in enumerate(layers) for part in parts for weight in part.parameters()}
        for name, weight in module.named_parameters():
            found[f"nodes.{node.name}.{name}"] = top + len(layers) - 1 - number.get(weight, 0)
    return found


def _node(name: str) -> str:
    """The node of a parameter ``nodes.encoder.norm.weight``; parameters outside of a graph have none."""
    return name.split(".")[1] if name.startswith("nodes.") else ""


def _weight_layers(module: Any) -> list[list[nn.Module]]:
    """The layers that a container declares; a block with weights is one layer, and a block without weights is none."""
    if offers(module, "weight_layers"):
        return module.weight_layers()
    return [[module]] if any(True for _ in module.parameters()) else []

# ruff: noqa: I001 (several names on a line, each with "as", which re-exports it)
# The public names, each with its module: composer/__init__.py imports a name from here when it is first asked for.

from .core.block import (
    Positive as Positive,
    Probability as Probability,
    Range as Range,
    Recipe as Recipe,
    Reference as Reference,
    Scale as Scale,
    Slot as Slot,
)
from .core.problems import Invalid as Invalid, UserError as UserError
from .core.recording import add_loss as add_loss, show as show, show_layer as show_layer, show_terms as show_terms
from .core.registry import register as register
from .core.signals import (
    Contents as Contents,
    Field as Field,
    Ids as Ids,
    Image as Image,
    Label as Label,
    Seq as Seq,
    Signal as Signal,
    Spelling as Spelling,
    State as State,
    Vec as Vec,
)
from .core.streaming.block_steps import refuse_to_stream as refuse_to_stream
from .core.streaming.pointwise import Pointwise as Pointwise
from .core.streaming.recurrence import Recurrence as Recurrence
from .core.streaming.streaming_copy import cached_for_generation as cached_for_generation
from .core.target import ReportRequest as ReportRequest, Target as Target
from .data.codecs.class_codec import ClassCodec as ClassCodec
from .data.codecs.number_codec import NumberCodec as NumberCodec
from .data.codecs.text_codec import TextCodec as TextCodec
from .data.fields.field_type import Cells as Cells, FieldKeys as FieldKeys, FieldType as FieldType
from .data.source import Source as Source
from .data.tokenisers.tokeniser import TokeniserType as TokeniserType, Tokenising as Tokenising
from .decoding.dispatch import DecodeOptions as DecodeOptions
from .decoding.predictions import (
    Aligned as Aligned,
    Forecast as Forecast,
    Generated as Generated,
    Hypothesis as Hypothesis,
)
from .decoding.settings import Settings as Settings
from .decoding.stream import Stream as Stream
from .graph.signal_flow import measure as measure
from .graph.trained import TrainedGraph as TrainedGraph, TrainedLayers as TrainedLayers
from .inference.export.weights_file import load_weights as load_weights
from .inference.model import Model as Model, load as load
from .metrics.evaluation import Evaluation as Evaluation
from .metrics.metric import HeadBatch as HeadBatch, Metric as Metric
from .objectives.objective import Batch as Batch, Objective as Objective
from .studies.comparison import Comparison as Comparison, compare as compare
from .studies.program_sweep import study as study, sweep as sweep
from .training.loggers.logger import Logger as Logger, RunInfo as RunInfo
from .training.run.compiled_model import CompiledModel as CompiledModel
from .training.run.composed_config import Config as Config, compose as compose
from .training.run.train import Outcome as Outcome
from .training.optimisation.schedules import Schedule as Schedule

__version__: str
__all__: list[str]

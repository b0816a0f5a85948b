"""Loggers, to which a training run reports: a CSV file, TensorBoard, Weights & Biases, MLflow, or several at once."""

from composer.training.loggers.logger import Logger, Loggers, RunInfo, Status, load_loggers

__all__ = ["Logger", "Loggers", "RunInfo", "Status", "load_loggers"]

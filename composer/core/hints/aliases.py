"""Names that other programs have for our keys: a key that does not exist is answered with the one that was meant.

An alias is never taken as the key itself, so that a config has one name for everything.
"""

from __future__ import annotations

from collections.abc import Iterable

#: The end of the path of a key, or of a choice of a group, and the words by which others call it.
MEANT = {
    "learning_rate": "lr rate learning_rate_init base_lr max_lr peak_lr",
    "weight_decay": "wd l2 decay",
    "momentum": "mom",
    "schedule.warmup": "warmup_steps num_warmup_steps n_warmup_steps lr_warmup warm_up",
    "training.batch": "batch_size bs bsz batchsize train_batch_size per_device_train_batch_size",
    "training.steps": "max_steps num_steps n_steps total_steps train_steps iterations iters max_iters max_updates",
    "training.epochs": "max_epochs num_epochs n_epochs epoch num_train_epochs",
    "training.clip": "grad_clip clip_grad gradient_clip_val max_grad_norm clip_norm clip_grad_norm",
    "training.accumulate": "accumulate_grad_batches gradient_accumulation_steps grad_accum accumulation_steps",
    "training.patience": "early_stopping early_stopping_patience",
    "training.validate_every": "eval_every eval_interval eval_steps val_check_interval val_every",
    "training.checkpoint_every": "save_every save_steps save_interval checkpoint_interval",
    "training.log_every": "log_interval log_every_n_steps logging_steps log_steps",
    "depth": "layers num_layers n_layers n_layer nlayers num_hidden_layers nlayer",
    "heads": "num_heads n_heads n_head nhead num_attention_heads attention_heads",
    "model.dim": "hidden_size d_model hidden_dim width n_embd hidden embed_dim embedding_dim dim model_dim emb_size",
    "dropout": "dropout_rate drop dropout_p p_dropout hidden_dropout_prob",
    "data.length": "seq_len block_size context_length seq_length max_length max_len sequence_length max_seq_len",
    "data.path": "file filename data_path train_file dataset_path",
    "trainer.accelerator": "device",
    "trainer.devices": "gpus num_gpus n_gpus ngpus num_devices",
    "trainer.precision": "dtype",
    "seed": "random_seed random_state manual_seed",
    "runs": "output_dir out_dir save_dir log_dir",
    "name": "run_name exp_name experiment_name",
    "resume": "ckpt_path resume_from_checkpoint resume_from checkpoint",
    "optimiser": "optimizer optim opt",
    "schedule": "scheduler lr_scheduler lr_schedule sched",
    "data": "dataset corpus task",
    "mixer": "rnn_type cell cell_type",
}

ALIASES = {alias: key for key, aliases in MEANT.items() for alias in aliases.split()}


def aliased(name: str, paths: Iterable[str]) -> list[str]:
    """The paths, of those that exist, that are meant by a name of other programs."""
    end = ALIASES.get(name.lower().replace("-", "_"))
    return [path for path in paths if path == end or path.endswith(f".{end}")] if end is not None else []


def aliased_key(name: object, keys: Iterable[str]) -> str:
    """A sentence about the key of a mapping that is meant by a name of other programs; nothing, if there is none."""
    end = ALIASES.get(str(name).lower(), "").rpartition(".")[2]
    return f" Did you mean '{end}'?" if end and end in keys else ""

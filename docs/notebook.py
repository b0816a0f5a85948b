# %% [markdown]
# # Two architectures on one task
#
# Compose a model, look at it, train it, and compare it with another one. The parts of this file are cells: VS Code and
# PyCharm open it as a notebook, and `jupytext --to notebook docs/notebook.py` makes an .ipynb of it.

# %%
import torch

import composer

steps = 300  # about a minute a run on a laptop
task = ["data=reverse", "data.train_size=2000", "data.valid_size=100", f"training.steps={steps}"]

# %% [markdown]
# ## Compose
#
# The list holds the overrides of `python train.py`. A compiled model shows itself as a drawing.

# %%
config = composer.compose([*task, "mixer=gru", "model.dim=32"])
model = config.compile()
model

# %% [markdown]
# Shapes, parameters, FLOPs and the size of the state; then the laws: no look ahead, padding without effect, and so on.

# %%
model.describe()

# %%
model.check()

# %% [markdown]
# Called with tensors, as any module of PyTorch is. Rows of different lengths are padded on the right.

# %%
outputs = model(
    {"source": torch.tensor([[5, 6, 7], [8, 9, 0]]), "target": torch.tensor([[7, 6, 5], [9, 8, 0]])},
    lengths={"source": [3, 2], "target": [3, 2]},
)
outputs["output"].values.shape

# %% [markdown]
# ## Train
#
# What `python train.py` does, with a bar. The outcome stands for the folder of the run.

# %%
outcome = config.train()
outcome

# %%
trained = composer.load(outcome)
trained

# %%
print(trained.generate("1 2 3 4 5")[0])
trained.evaluate()

# %% [markdown]
# ## Compare
#
# A run for every mixer and seed, and their comparison. `composer.study("rnn_vs_transformer")` would run a whole study,
# in which every arm has the same number of parameters and a tuned learning rate.

# %%
comparison = composer.sweep([*task, "mixer=gru,attention", "seed=1,2", "model.dim=32"])
comparison

# %%
print(comparison.sentence)

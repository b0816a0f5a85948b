import lightning
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger

import composer

config = composer.compose(["data=copy", "data.length=6", "data.train_size=400", "model.dim=16", "mixer=gru"])
module, data = config.lightning()
best, stop = ModelCheckpoint(monitor="valid/loss"), EarlyStopping("valid/loss", patience=3)
callbacks, logger = [best, stop, LearningRateMonitor()], TensorBoardLogger("lightning_runs")
trainer = lightning.Trainer(max_steps=40, log_every_n_steps=5, callbacks=callbacks, logger=logger, profiler="simple")
trainer.fit(module, data)
trainer.validate(module, data, ckpt_path="best")
trainer.test(module, data, ckpt_path="best")

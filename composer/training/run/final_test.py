"""The test split, on which a run is evaluated once: at its end, with its best checkpoint.

Nothing in training depends on the result. The first process evaluates alone, after the others have ended: every row
then counts once, and its statistics are there for the intervals and for test_examples.npz.
"""

from __future__ import annotations

from composer.batching import drawn_batches
from composer.metrics import LOSS, evaluate, headline
from composer.runs import checkpoint
from composer.training.hardware import chosen
from composer.training.run.example_records import SeenExamples, recorded_step, trained_lengths, write_records
from composer.training.run.record import RunRecorder


def final_test(record: RunRecorder) -> None:
    """Evaluate the best checkpoint on all rows of the test split, and note metrics and intervals in run.json.

    A run without a test split has none, and neither has a trial whose only purpose is to choose hyperparameters. A run
    that was killed after this evaluation and resumed keeps the result, unless a later checkpoint is better.
    """
    plan, folder = record.plan, record.folder
    objective, training = plan.objective, plan.training
    known = folder.read_record()
    if not training.test or known.phase == "tuning" or not objective.size("test"):
        return
    content = checkpoint.load(folder.chosen())
    step = content["step"]
    if known.test and known.test_step == step == recorded_step(folder.test_examples):
        record.test = known.test
        return
    graph = checkpoint.materialise(plan.meta, content).to("cuda" if chosen(plan.hardware) == "gpu" else "cpu")
    batches, _ = drawn_batches(objective, "test", batch=training.batch, batch_tokens=training.batch_tokens)
    given = plan.meta.plan.given
    seen = SeenExamples(given)
    found = evaluate(graph, objective, seen.watch(batches), keep=True, samples=0)
    main = {training.monitor or LOSS, LOSS, headline(found.values)}
    trained = trained_lengths(objective, given)
    write_records(folder.test_examples, step, seen, found, main=main, trained=trained)  # before run.json has a test
    record.tested(found.report())
    folder.update_record(test=record.test, test_step=step)

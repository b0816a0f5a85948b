"""Inference with a trained model, from its checkpoint alone.

model.py               the class Model, with a method for every use below
find_checkpoint.py     the best or the last checkpoint of a run
run_data.py            the run's data or new data, encoded with the model's vocabularies; the files that a checkpoint's
                       config names, which are read only for the user's own runs
prompts.py             generation: prompts in, tokens out
prediction.py          rows in, a record of every head's prediction out
typed_rows.py          rows that a person gives, of one or several fields
prediction_records.py  a head's prediction for a row, as plain data
output_files.py        predictions as a file: JSON lines, CSV, TSV, CoNLL
data_evaluation.py     metrics with confidence intervals
evaluation_details.py  the figures of every class, confusions and the worst examples, as text
inspection.py          figures of a trained model, on an HTML page
inspected_results.py   its tables: the metrics of the run, classes, examples
similar_tokens.py      neighbours and analogies of tokens, as tables
model_vectors.py       vectors of texts (hidden states) and of tokens (embeddings)
export/                a graph as ONNX or torch.export programs, its weights as safetensors, its token vectors as text

This module imports nothing, so that ``--help`` starts quickly.
"""

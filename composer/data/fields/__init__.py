"""Types of fields: how cells of the user's files become values, and values become tensors.

A field is declared in the section ``data`` of a config, by its type and its columns:

    stars: {type: class, column: 3}
"""

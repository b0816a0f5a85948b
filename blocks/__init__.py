"""The catalogue: one file per block, in folders by kind. Registered name, file name and YAML name are the same."""

"""What the commands say of blocks: the catalogue of the registered ones, and a block of the user's by its name."""

"""The division of records into training, validation and test."""

"""Documents in, question-answer training data out, every sentence proved from its source."""

"""Documents as measures on words: word vectors from files, texts to masses, and whether it pays."""

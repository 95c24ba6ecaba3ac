"""Shell text inside the words, the input and the settings of programs that are no shells, known or guessed."""

"""What values look like as text: canonical JSON, paths into arguments, what is invisible, alike or to be hidden."""

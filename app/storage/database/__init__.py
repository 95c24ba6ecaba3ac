"""What is asked of a database before it is used: whether sessions stay ours, which rights are lacking, what to mend."""

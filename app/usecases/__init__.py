"""What can be done, one verb a file: each opens units of work on the store and acts on their results."""

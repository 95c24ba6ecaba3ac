"""Guards that read shell commands and paths: the extra `assent[guards]`."""

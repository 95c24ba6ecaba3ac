"""The rules of the command guard: what a command would do to files, disks, permissions, git and other machines."""

"""Hooks that are commands: started, told the moment on stdin, heard on stdout."""

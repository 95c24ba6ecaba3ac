"""The benchmarks: one command, each measure beside a reference that is taken in the same run (`make bench`)."""

"""Stand-ins between an agent and its tools on a protocol of theirs: what is a call is judged, all else passes."""

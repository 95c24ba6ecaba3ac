"""The suite that every channel must pass, ours and others': the same sentences, and a harness for each platform."""

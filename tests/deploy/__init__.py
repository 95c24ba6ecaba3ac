"""What is shipped to run the gateway with, each part with the real program where one can be had."""

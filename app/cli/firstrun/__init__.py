"""The first hour: what writes a first configuration, by asking."""

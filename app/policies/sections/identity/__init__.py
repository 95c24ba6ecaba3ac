"""The sections about who somebody is: who signs people in, and who has which role."""

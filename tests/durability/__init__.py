"""Survival: killed, frozen, raced and lied to, with nothing acknowledged lost and nothing done twice."""

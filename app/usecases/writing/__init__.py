"""What every decision writes: effects carried out, cards planned, refusals recorded."""

"""From the approval to the outcome: claim, report, reconcile."""

"""What a call spends, weighed against budgets, payees and near copies."""

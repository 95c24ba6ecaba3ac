"""What the files of the Feishu channel stand on: groups, failures, elements of a card, notices."""

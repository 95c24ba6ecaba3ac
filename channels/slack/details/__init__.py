"""What the files of the Slack channel stand on: people, forms, texts, the app's manifest."""

"""What some channels can do besides posting cards: renew their access, tell who is above whom, vouch for e-mails."""

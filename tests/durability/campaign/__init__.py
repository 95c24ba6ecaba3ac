"""Ten minutes of bad weather over two real gateways: what may go wrong goes wrong at random, under a seed."""

"""Facts of hosts that are not there, and what is judged of them."""

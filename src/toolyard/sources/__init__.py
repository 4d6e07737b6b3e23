"""Parts that know about servers and say so in whole reports; none knows another."""

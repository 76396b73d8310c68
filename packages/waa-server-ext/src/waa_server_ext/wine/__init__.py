"""WAA's own server, unmodified, in a Windows Python under Wine: for developing agents and VMs, not for numbers."""

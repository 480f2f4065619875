"""What the simulator is held against: theory, other simulators, the Linux kernel, real programs, papers."""

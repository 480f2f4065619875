"""What the simulator is held against: queueing theory, two other simulators, and the Linux kernel."""

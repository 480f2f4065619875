"""Studies as sweeps: campaigns, their workers, calibration, advice, suites, the emulator and the testbed."""

"""Studies as sweeps: campaigns, their workers, calibration, advice, the emulator and the testbed."""

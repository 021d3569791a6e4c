"""What should exist: pure functions of what the user wrote and what was observed. No I/O, no clock, no chance."""

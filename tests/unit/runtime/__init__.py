"""Unit tests of the runtime: against scripted answers, and small servers on loopback for what is HTTP."""

"""What the tests of several packages use and no wheel brings: model servers on loopback, faults, damage."""

"""Laws as tests to inherit, and doubles that show what no release may: for the tests of this project alone."""

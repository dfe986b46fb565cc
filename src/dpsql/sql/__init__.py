"""FROM TEXT TO A SAFE QUERY. One stage, one file; each file defines the value it returns."""

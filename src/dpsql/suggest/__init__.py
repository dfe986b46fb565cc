"""From a catalogue to a policy: suggestions for the owner, each to be confirmed, and the list of what is left to do."""

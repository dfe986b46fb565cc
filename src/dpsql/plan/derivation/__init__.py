"""What `plan.derive` knows about each operator. It shares no function with the stages it checks."""

"""What `plan.explain` says, part by part."""

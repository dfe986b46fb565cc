"""What a history of releases costs. One theory, one file; each says whether it is a filter."""

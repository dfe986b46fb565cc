"""WHO HAS PAID. Append-only: charges before answers, answers before they are told."""

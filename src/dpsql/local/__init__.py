"""Input perturbation: each person perturbs at the source, the curator de-biases."""

"""Templates of what `ablate new` writes, and of the page of `ablate guide`."""

# Slots that have a template, each with another value for the parameter of the part in it.
PARTS = {
    "activation": "scale: 0.5",
    "mixer": "gated: off",
    "norm": "eps: 1e-3",
    "position": "slope: 0.5",
    "score": "initial: 0.5",
}

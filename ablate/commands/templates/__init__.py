"""Templates of what `ablate new` writes, and of the page of `ablate guide`."""

# Slots that have a template, each with a value, other than the default, of the parameter in it.
PARTS = {
    "activation": "scale: 0.5",
    "mixer": "gated: off",
    "norm": "eps: 1e-3",
    "position": "slope: 0.5",
    "score": "initial: 0.5",
    "task": "distance: 3",
}

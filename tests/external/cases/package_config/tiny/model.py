from .config import LR, MOMENTUM


def step(w, v, r):
    v = MOMENTUM * v - LR * (w - 3 + r.gauss(0, 0.1))
    return w + v, v

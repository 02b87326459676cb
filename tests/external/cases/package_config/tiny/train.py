import random

from tiny import config as C
from tiny.model import step


def main():
    r = random.Random(C.SEED)
    w = r.gauss(0, 1)
    v = 0.0
    for i in range(C.STEPS):
        w, v = step(w, v, r)
        if i % 10 == 9:
            print(f"[step {i + 1:>4}] train_loss={(w - 3) ** 2:.4f}")
    print(f"test_loss={(w - 3) ** 2 + 0.5:.5f}")


if __name__ == "__main__":
    main()

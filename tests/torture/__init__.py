"""The torture campaign: what careless users and careless machines do, at random, and what must hold whatever they do.

    python -m tests.torture --minutes 20 --seed N      the whole of it (`make torture`)
    python -m tests.torture --only kills --seed N --case 17      one case again

One file a kind of attack. An attack is a function `attack(rng, place) -> outcome` of one case: it does what its kind
does, with every choice drawn from `rng`, in a folder of its own, and returns "refused", "accepted" or "recovered". What
breaks an invariant it tells `place.violation`; what this machine cannot do it raises as `Skipped`, with the reason.

    no traceback; nothing over 10 s for a refusal; no finished trial lost or trained twice; no wrong number accepted;
    final tables bitwise those of an uninterrupted run (columns in _seconds, _per_second or _memory may differ)

and beside studies, of own code, `analyse`, `compare` and `gate`:

    nothing over 15 s; numbers as the program printed them, by its own notes; intervals as scipy has them; no process
    survives; the user's repository is as it was; no finished run is made again; each α of a gate is spent once
"""

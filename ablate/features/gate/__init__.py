"""`ablate gate`: a stream of tries, each kept, discarded or tested again, with one error rate for all of them."""

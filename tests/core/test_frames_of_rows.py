from dataclasses import dataclass

from ablate.core.rows import frame_of_rows


@dataclass(frozen=True)
class Fruit:
    name: str
    weight: float
    ripe: bool


def test_fields_are_the_columns_in_their_order():
    frame = frame_of_rows([Fruit("pear", 0.2, True), Fruit("fig", float("nan"), False)], Fruit)
    assert list(frame.columns) == ["name", "weight", "ripe"]
    assert frame.loc[0].tolist() == ["pear", 0.2, True]
    assert frame[["weight", "ripe"]].dtypes.astype(str).tolist() == ["float64", "bool"]


def test_without_rows_there_are_columns():
    frame = frame_of_rows([], Fruit)
    assert (len(frame), list(frame.columns)) == (0, ["name", "weight", "ripe"])

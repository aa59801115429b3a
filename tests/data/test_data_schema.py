"""What a schema says of its columns."""

from tractable.data import Schema, Variable


def test_a_column_is_a_target_unless_it_is_said_to_be_something_else() -> None:
    schema = Schema((Variable("a", states=("x", "y")), Variable("b", "real"), Variable("c", "count")))
    assert {v.role for v in schema} == {"target"}
    assert schema.targets.tolist() == [0, 1, 2]
    assert schema.inputs.tolist() == []
    assert not schema.is_given.any()


def test_a_model_is_conditional_on_its_inputs_and_potentials() -> None:
    schema = Schema(
        (Variable("x", "real", role="input"), Variable("y", "real"), Variable("f", "real", role="potential"))
    )
    assert schema.targets.tolist() == [1]
    assert schema.inputs.tolist() == [0]
    assert schema.is_given.tolist() == [True, False, True]
    assert schema.is_potential.tolist() == [False, False, True]

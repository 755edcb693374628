changes {{ 40 + 2 }}:
  test.succeed_with_changes
none:
  test.nop:
    - require:
      - test: changes 42

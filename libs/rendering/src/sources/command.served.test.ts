import { mapOf } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { readCommand } from './command.ts';

const settings = { log: () => undefined };

test('the id of the minion is pasted into the command', () => {
  expect(readCommand('yaml', 'web1.example', "echo 'id: %s'", settings)).toEqual(
    mapOf({ id: 'web1.example' }),
  );
});

test.each([
  ['a text', 'echo "a: 1"'],
  ['a list', ['echo "a: 1"']],
  ['a map', mapOf({ command: 'echo "a: 1"' })],
])('the command may be given as %s', (_form, args) =>
  expect(readCommand('yaml', 'a', args, settings)).toEqual(mapOf({ a: 1 })),
);

describe('an id that a shell or a command would read is refused', () => {
  test.each(['-rf', '--help', 'a b', 'a;b', '$(id)', 'a\nb', '`id`', 'a|b', '*', '~root', "a'b"])(
    '%j',
    (id) => expect(() => readCommand('yaml', id, 'echo %s', settings)).toThrow('unsafe'),
  );
});

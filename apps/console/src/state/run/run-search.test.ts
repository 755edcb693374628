import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSearch, searchText } from '../search.ts';
import { NO_COMMAND, TARGET_KINDS } from './run-command.ts';
import { commandIn, runSearch, searchOf } from './run-search.ts';

describe('the address of a command', () => {
  it('opens filled from a list of minions', () => {
    const search = runSearch(parseSearch('?tgt=web1&tgt=web2&tgtType=list&fun=test.ping'));
    expect(commandIn(search)).toEqual({
      ...NO_COMMAND,
      tgt: 'web1,web2',
      tgtType: 'list',
      fun: 'test.ping',
    });
  });

  it('drops what is none of its parameters or of its choices', () => {
    expect(commandIn(runSearch({ client: 'shell', tgtType: 'all', x: 'y', fun: 3 }))).toEqual(
      NO_COMMAND,
    );
  });

  it('is the command again', () => {
    const text = fc.string();
    const one = fc.string({ minLength: 1 });
    const commands = fc.record({
      of: fc.constantFrom('module' as const, 'runner' as const, 'wheel' as const),
      tgt: text,
      tgtType: fc.constantFrom(...TARGET_KINDS.map(({ type }) => type)),
      fun: text,
      arg: fc.array(one),
      size: text,
      canary: text,
      halt: text,
      wait: text,
      failhard: fc.boolean(),
      durable: text,
      deadline: text,
    });
    fc.assert(
      fc.property(commands, (command) => {
        const address = searchText({ ...searchOf(command) });
        expect(commandIn(runSearch(parseSearch(address)))).toEqual(command);
      }),
    );
  });
});

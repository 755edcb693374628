import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  commandLine,
  NO_COMMAND,
  parseCommand,
  type RunCommand,
  TARGET_KINDS,
} from './run-command.ts';

const read = (line: string): unknown => {
  const parsed = parseCommand(line);
  return parsed.kind === 'command' ? parsed.command : parsed.text;
};

describe('parseCommand', () => {
  it('reads the target, the function and its arguments', () => {
    expect(read(`salt -C 'G@os:Debian' state.apply nginx test=True`)).toEqual({
      ...NO_COMMAND,
      tgt: 'G@os:Debian',
      tgtType: 'compound',
      fun: 'state.apply',
      arg: ['nginx', 'test=True'],
    });
  });

  it.each(TARGET_KINDS)(
    'reads the option of $type targets, before and after the target',
    (kind) => {
      if (kind.option === undefined) return;
      const wanted = { ...NO_COMMAND, tgt: 'x', tgtType: kind.type, fun: 'test.ping' };
      expect(read(`salt ${kind.option} x test.ping`)).toEqual(wanted);
      expect(read(`salt x test.ping ${kind.long}`)).toEqual(wanted);
    },
  );

  it('reads how a batch runs', () => {
    const options = '-b10% --batch-canary=5 --batch-halt 2% --batch-wait 3 --failhard';
    expect(read(`salt ${options} '*' test.ping`)).toEqual({
      ...NO_COMMAND,
      tgt: '*',
      fun: 'test.ping',
      size: '10%',
      canary: '5',
      halt: '2%',
      wait: '3',
      failhard: true,
    });
  });

  it('reads how long a durable job is sent again', () => {
    expect(read(`salt --durable 15m '*' test.ping`)).toMatchObject({ durable: '900' });
  });

  it('reads a deadline from the metadata, and refuses others', () => {
    const line = (value: string): string => `salt --metadata '${value}' '*' test.ping`;
    expect(read(line('{brine_deadline: 60}'))).toMatchObject({ deadline: '60' });
    expect(read(line('{a: b}'))).toBe('--metadata can not be {a: b} on this page');
  });

  it('leaves out what shapes a terminal, and names it', () => {
    const parsed = parseCommand(`brine salt -vp --out=json -t 30 '*' test.ping`);
    expect(parsed).toEqual({
      kind: 'command',
      command: { ...NO_COMMAND, tgt: '*', fun: 'test.ping' },
      left: ['-v', '-p', '--out json', '-t 30'],
    });
  });

  it('reads runners and wheels', () => {
    const runner = { ...NO_COMMAND, of: 'runner', fun: 'state.orch', arg: ['deploy'] };
    expect(read('salt-run state.orch deploy')).toEqual(runner);
    expect(read('runners.state.orch deploy')).toEqual(runner);
    expect(read('wheel.key.list_all')).toMatchObject({ of: 'wheel', fun: 'key.list_all' });
  });

  it.each([
    ['rm -rf /', 'It begins with salt or salt-run'],
    ['salt', 'It has no target'],
    [`salt '*'`, 'It has no function'],
    [`salt -L -G a test.ping`, 'It has more than one kind of target'],
    [`salt '*' a.b,c.d`, 'This page runs one function at a time'],
    [`salt --subset 3 '*' test.ping`, '--subset is no option of this page'],
    [`salt '*' test.ping -b`, '-b has no value'],
    [`salt --durable soon '*' test.ping`, '--durable can not be soon on this page'],
    [`salt '*' cmd.run 'a`, "A quote (') has no end"],
  ])('refuses %s', (line, why) => {
    expect(read(line)).toBe(why);
  });
});

describe('commandLine', () => {
  const text = fc.string({ minLength: 1, maxLength: 8 });
  const digits = fc.integer({ min: 1, max: 999 }).map(String);
  const maybe = (one: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), one);
  const how = fc.oneof(
    fc.record({ durable: maybe(digits), deadline: maybe(digits) }),
    fc.record({
      size: digits,
      canary: maybe(digits),
      halt: maybe(digits),
      wait: maybe(digits),
      failhard: fc.boolean(),
      deadline: maybe(digits),
    }),
  );
  const jobs = fc
    .tuple(
      fc.record({
        tgt: text,
        tgtType: fc.constantFrom(...TARGET_KINDS.map(({ type }) => type)),
        fun: fc.constant('test.echo'),
        arg: fc.array(text),
      }),
      how,
    )
    .map(([call, given]): RunCommand => ({ ...NO_COMMAND, ...call, ...given }));

  it('writes what it reads as the same command', () => {
    fc.assert(
      fc.property(jobs, (command) => {
        expect(read(commandLine(command) ?? '')).toEqual(command);
      }),
    );
  });

  it('has none for a wheel', () => {
    expect(commandLine({ ...NO_COMMAND, of: 'wheel', fun: 'key.list_all' })).toBeUndefined();
  });
});

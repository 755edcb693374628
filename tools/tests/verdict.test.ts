import { describe, expect, test } from 'vitest';
import { redBecauseOf } from './flaky-list.ts';
import type { Layer } from './layers.ts';
import type { FileOutcome } from './outcome.ts';
import { countsOf, failuresFor, flakyFor } from './summary.ts';
import { failuresOf, filesToRunAgain, type Ran, verdictOf } from './verdict.ts';

const NOW = Date.parse('2026-11-27');
const MASTERS = 'test/a.masters.test.ts';
const DEEP = 'test/b.deep.test.ts';
const PURE = 'libs/c.test.ts';

function outcome(file: string, messages: readonly string[] = [], passed = 2): FileOutcome {
  const failures = messages.map((message, at) => ({
    test: `test ${at + 1}`,
    message,
    at: 'x.ts:7',
  }));
  return { file, layer: 'any', begin: 0, end: 3000, cpuMs: 1000, passed, skipped: 0, failures };
}

function ran(
  files: readonly FileOutcome[],
  more: Partial<Ran> = {},
  code: number | string = 0,
): Ran {
  const chosen = new Map<Layer, readonly string[]>([['deep', files.map(({ file }) => file)]]);
  return { chosen, ends: [{ code, files, strays: [] }], endedEarly: undefined, ...more };
}

describe('a file that failed', () => {
  test('and passes alone is flaky: the run is green, both outcomes are counted once', () => {
    const first = ran([outcome(MASTERS, ['late'], 1), outcome(PURE)], {}, 1);
    expect(filesToRunAgain(failuresOf(first))).toEqual([MASTERS]);
    const again = new Map([[MASTERS, ran([outcome(MASTERS)])]]);
    const verdict = verdictOf(first, again, {}, NOW);
    expect(verdict).toMatchObject({ passed: 4, failed: [], red: [] });
    expect(countsOf(verdict)).toBe('4 passed, 0 failed');
    expect(flakyFor(verdict.flaky)).toBe(
      `FLAKY ${MASTERS} > test 1: failed after 3.0 s, passed alone in 3.0 s\n  late`,
    );
  });

  test('and fails alone has failed, with what was seen alone', () => {
    const first = ran([outcome(DEEP, ['late'])], {}, 1);
    const again = new Map([[DEEP, ran([outcome(DEEP, ['broken'], 1)], {}, 1)]]);
    const verdict = verdictOf(first, again, {}, NOW);
    expect(verdict.failed[0]?.failures[0]?.message).toBe('broken');
    expect(countsOf(verdict)).toBe('1 passed, 1 failed');
  });

  test('runs once more only in layers of real peers, and only where few failed', () => {
    const failed = (files: readonly string[]) =>
      filesToRunAgain(
        failuresOf(
          ran(
            files.map((file) => outcome(file, ['x'])),
            {},
            1,
          ),
        ),
      );
    expect(failed([PURE])).toEqual([]);
    expect(failed([PURE, DEEP])).toEqual([]);
    expect(failed(['x.served.test.ts'])).toEqual([]);
    expect(failed([1, 2, 3].map((at) => `${at}.deep.test.ts`))).toHaveLength(3);
    expect(failed([1, 2, 3, 4].map((at) => `${at}.deep.test.ts`))).toEqual([]);
  });
});

describe('beside its tests', () => {
  test('a run that was cut short, a file without an end, a stray error and an exit code fail', () => {
    const messages = (one: Ran) => failuresOf(one).flatMap(({ failures }) => failures[0]?.message);
    expect(messages(ran([], { endedEarly: 'ended by SIGTERM' }))).toEqual(['ended by SIGTERM']);
    const chosen = new Map<Layer, readonly string[]>([['deep', [DEEP]]]);
    expect(messages(ran([], { chosen }))).toEqual(['it did not end']);
    expect(messages(ran([outcome(DEEP)], {}, 'SIGSEGV'))).toEqual(['vitest ended with SIGSEGV']);
    const ends = [{ code: 1, files: [outcome(DEEP)], strays: [{ stray: 'Error: x', file: DEEP }] }];
    expect(messages(ran([outcome(DEEP)], { ends }))).toEqual(['outside of its tests: Error: x']);
    expect(filesToRunAgain(failuresOf(ran([outcome(DEEP)], { ends })))).toEqual([DEEP]);
    expect(messages(ran([outcome(DEEP)]))).toEqual([]);
  });
});

describe('flaky files make a run red', () => {
  test('where one is known for more than a week', () => {
    expect(redBecauseOf([DEEP], { [DEEP]: '2026-11-21' }, NOW)).toEqual([]);
    expect(redBecauseOf([DEEP], { [DEEP]: '2026-11-19' }, NOW)).toEqual([
      `${DEEP} is known as flaky since 2026-11-19: mend it first`,
    ]);
    expect(redBecauseOf([], { [DEEP]: '2026-11-19' }, NOW)).toEqual([]);
  });

  test('where there are more than three', () => {
    expect(redBecauseOf(['1', '2', '3'], {}, NOW)).toEqual([]);
    expect(redBecauseOf(['1', '2', '3', '4'], {}, NOW)[0]).toContain('4 files are flaky, 3 may be');
  });
});

describe('failures', () => {
  const screen = (count: number, message: string) =>
    failuresFor(
      [{ file: DEEP, failures: outcome(DEEP, Array(count).fill(message)).failures }],
      '/d',
    );

  test('say what was awaited, what was seen last, and how to run the file alone', () => {
    expect(
      screen(1, 'waited 30000 ms for this: the job is saved; checked 7 times, seen last: 3'),
    ).toBe(
      [
        `FAILED ${DEEP} > test 1`,
        '  awaited for 30000 ms: the job is saved',
        '  checked 7 times, seen last: 3',
        `  again: npm test -- --only ${DEEP}  (x.ts:7)`,
        'Whole messages, and reports on masters: /d',
      ].join('\n'),
    );
  });

  test.each([1, 2, 5, 8, 100])('%d of them fit on a screen', (count) => {
    const text = screen(count, Array(50).fill('a long line '.repeat(30)).join('\n'));
    const lines = text.split('\n');
    expect(lines.length).toBeLessThan(45);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(200);
    expect(text.includes('more failures')).toBe(count > 8);
  });
});

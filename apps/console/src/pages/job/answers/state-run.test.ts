import { expect, test } from 'vitest';
import { oddFirst, stateDifferences, stateRunOf } from './state-run.ts';

const state = (given: object) => ({ result: true, changes: {}, comment: 'fine', ...given });

test('a run of states is read in its order', () => {
  const run = stateRunOf({
    'pkg_|-nginx_|-nginx_|-installed': state({ __run_num__: 1, changes: { nginx: 'new' } }),
    'file_|-motd_|-/etc/motd_|-managed': state({
      __run_num__: 0,
      result: false,
      duration: '12.5 ms',
    }),
    'service_|-nginx_|-nginx_|-running': state({ __run_num__: 2, result: null, duration: 3 }),
  });
  expect(run?.map(({ name, outcome, durationMs }) => [name, outcome, durationMs])).toEqual([
    ['file.managed motd (/etc/motd)', 'failed', 12.5],
    ['pkg.installed nginx', 'changed', 0],
    ['service.running nginx', 'would', 3],
  ]);
});

test.each([[true], ['text'], [null], [{}], [[1]], [{ 'a_|-b': {} }], [{ 'a_|-b_|-c_|-d': 1 }]])(
  '%j is no run of states',
  (given) => {
    expect(stateRunOf(given)).toBeUndefined();
  },
);

test('a short run has its failed states before changed ones, and no state that is ok', () => {
  const run = stateRunOf({
    'a_|-one_|-one_|-run': state({ __run_num__: 0, changes: { x: 1 } }),
    'a_|-two_|-two_|-run': state({ __run_num__: 1 }),
    'a_|-three_|-three_|-run': state({ __run_num__: 2, result: false }),
    'a_|-four_|-four_|-run': state({ __run_num__: 3, result: null }),
  });
  expect(oddFirst(run ?? []).map(({ name }) => name)).toEqual([
    'a.run three',
    'a.run one',
    'a.run four',
  ]);
});

test('a name like that of a prototype is a state as any other', () => {
  const run = stateRunOf(JSON.parse('{"a_|-__proto___|-__proto___|-b":{"result":true}}'));
  expect(run?.[0]?.name).toBe('a.b __proto__');
});

test('runs differ in outcomes and comments, not in times and numbers', () => {
  const run = (nginx: object) =>
    stateRunOf({
      'file_|-motd_|-/etc/motd_|-managed': state({ comment: 'took 3 s', duration: 1 }),
      'pkg_|-nginx_|-nginx_|-installed': state(nginx),
    }) ?? [];
  const same = run({ comment: 'pid 1' });
  expect(stateDifferences(same, run({ comment: 'pid 2', duration: 9 }))).toEqual([]);
  const [one, ...more] = stateDifferences(run({ result: false }), same);
  expect(more).toEqual([]);
  expect([one?.name, one?.here?.outcome, one?.there?.outcome]).toEqual([
    'pkg.installed nginx',
    'failed',
    'ok',
  ]);
});

test('a state that one of them lacks is a difference', () => {
  const whole = stateRunOf({ 'a_|-b_|-b_|-c': state({}) }) ?? [];
  expect(stateDifferences(whole, []).map(({ there }) => there)).toEqual([undefined]);
  expect(stateDifferences([], whole).map(({ here }) => here)).toEqual([undefined]);
});

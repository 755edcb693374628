import { describe, expect, test } from 'vitest';
import type { Plain } from './engine.ts';
import { readEngines } from './engine-list.ts';

const ALL = { hasPython: true, runsTypeScript: true };
const NONE = { hasPython: false, runsTypeScript: false };

const read = (given: Plain, options = NONE) => readEngines(given, options);
const only = (given: Plain, options = NONE) => {
  const { engines, faults } = read([given], options);
  expect(faults).toEqual([]);
  return engines[0];
};

describe('engines are read as Salt reads them', () => {
  test('names, maps, and one map for all', () => {
    const expected = [
      { name: 'test', module: { kind: 'builtin', name: 'test' }, options: {}, where: 'cluster' },
      {
        name: 'webhook',
        module: { kind: 'builtin', name: 'webhook' },
        options: { port: 8000 },
        where: 'host',
      },
    ];
    expect(read(['test', { webhook: { port: 8000 } }]).engines).toEqual(expected);
    expect(read({ test: null, webhook: { port: 8000 } }).engines).toEqual(expected);
  });

  test('two of one module run side by side', () => {
    const { engines } = read([{ webhook: { port: 1 } }, { webhook: { port: 2 } }, 'webhook']);
    expect(engines.map(({ name }) => name)).toEqual(['webhook', 'webhook-2', 'webhook-3']);
  });

  test('engine_module names the module of an entry', () => {
    const engine = only({ audit: { engine_module: 'http_logstash', url: 'http://x' } });
    expect(engine).toMatchObject({ name: 'audit', module: { name: 'http_logstash' } });
    expect(engine?.options).toEqual({ url: 'http://x' });
  });

  test('brine_where says where it runs', () => {
    expect(only({ webhook: { brine_where: 'cluster' } })?.where).toBe('cluster');
    expect(only({ test: { brine_where: 'host' } })?.where).toBe('host');
  });

  test('a path is a module of the site, another name is for Python', () => {
    const mine = { mine: { engine_module: '/srv/engines/mine.mjs', a: 1 } };
    expect(only(mine)?.module).toEqual({ kind: 'file', path: '/srv/engines/mine.mjs' });
    const typed = { typed: { engine_module: '/srv/engines/typed.ts' } };
    expect(only(typed, ALL)?.module).toEqual({ kind: 'file', path: '/srv/engines/typed.ts' });
    const bolt = only({ slack_bolt: { token: 'x' } }, ALL);
    expect(bolt?.module).toEqual({ kind: 'python', name: 'slack_bolt' });
  });
});

test('the reactor is no process of its own, and no fault', () => {
  const entries = ['reactor', { reactor: { worker_threads: 5 } }, 'test'];
  for (const options of [ALL, NONE]) {
    const { engines, faults } = read(entries, options);
    expect([engines.map(({ name }) => name), faults]).toEqual([['test'], []]);
  }
  const renamed = { mine: { engine_module: 'reactor' } };
  expect(read([renamed])).toEqual({ engines: [], faults: [] });
});

describe('what does not run is said in one line', () => {
  test.each<[Plain, string, typeof NONE]>([
    ['slack', 'Brine has no such engine', NONE],
    ['thorium', 'Brine has no thorium', ALL],
    [{ webhook: { prot: 1 } }, 'it has no option prot', NONE],
    [{ webhook: 'x' }, 'its options must be a map', NONE],
    [{ test: { brine_where: 'x' } }, 'brine_where must be host or cluster', NONE],
    [{ mine: { engine_module: './mine.js' } }, 'must be absolute', NONE],
    [{ mine: { engine_module: '/x/mine.py' } }, 'must end in .js', NONE],
    [{ mine: { engine_module: '/x/mine.ts' } }, 'needs Node 22.18', NONE],
    [{ 'a b': {} }, 'a name has letters', NONE],
    [{ mine: { engine_module: 'a b' } }, 'no name of a module', ALL],
    [5, 'a name has letters', NONE],
  ])('%j', (entry, why, options) => {
    const { engines, faults } = read([entry], options);
    expect(engines).toEqual([]);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.why).toContain(why);
  });

  test('the thirty-third engine', () => {
    const { engines, faults } = read(Array.from({ length: 33 }, () => 'test'));
    expect(engines).toHaveLength(32);
    expect(faults).toMatchObject([{ name: 'test-33' }]);
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deliverEvents, type PythonCallError, PythonHost } from '@brine/python-host';
import { type SaltConfig, SaltSandbox, saltVenv, type SaltVersion } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { isMap, mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeModules, placeSite, writtenEvents } from './site.ts';

/*
 * The host of Python alone, with the site's modules and real Salt. What a whole master does with it
 * is in python-site.masters.test.ts.
 */

const VERSIONS: readonly SaltVersion[] = ['3006.26', '3008.2'];
const JID = '20261126030405060708';
const MEMORY = 1024 * 1024 * 1024;
const RUNNER_MS = 12_000;

describe.each(VERSIONS)('modules of Salt %s', (version) => {
  let sandbox: SaltSandbox;
  let host: PythonHost;
  let config: SaltConfig;
  const lines: string[] = [];

  beforeAll(async () => {
    const venv = await saltVenv(version);
    sandbox = await SaltSandbox.create();
    config = await placeSite(sandbox.dir);
    const nats = { url: 'nats://brine:secret@localhost' };
    const home = await sandbox.master({ ...config, brine: { nats } });
    await placeModules(home);
    host = new PythonHost(
      {
        python: venv.python,
        configFile: join(home.configDir, 'master'),
        memoryBytes: MEMORY,
        runnerMs: RUNNER_MS,
      },
      (level, text) => lines.push(`${level} ${text}`),
    );
  }, 900_000);
  afterAll(async () => {
    host.close();
    await sandbox.close();
  });

  /** Runs a runner, or a wheel function. */
  async function run(
    fun: string,
    args: SaltValue[] = [],
    more: Readonly<Record<string, SaltValue>> = {},
    onEvent?: (tag: string, data: SaltValue) => void,
  ): Promise<SaltMap> {
    const call = { kind: 'runner', fun, jid: JID, user: 'root', args, kwargs: mapOf({}), ...more };
    const outcome = await host.call('runner', 'run', mapOf(call), onEvent);
    if (!isMap(outcome)) throw new Error('no outcome');
    return outcome;
  }

  const valueOf = async (...given: Parameters<typeof run>): Promise<SaltValue | undefined> =>
    (await run(...given)).get('value');

  const failureOf = async (call: Promise<unknown>): Promise<PythonCallError> =>
    call.then(
      () => Promise.reject(new Error('it did not fail')),
      (error: unknown) => error as PythonCallError,
    );

  const pillarOf = (op: string, more: Readonly<Record<string, SaltValue>>): SaltMap => {
    const minion = { id: 'web1', grains: mapOf({ fqdn: 'w' }), saltenv: 'base', pillarenv: null };
    return mapOf({ minion: mapOf(minion), pillar_run: `${version} ${op}`, ...more });
  };

  it('lists the functions of the site with their documentation, and none of Salt', async () => {
    const found = (await host.call('runner', 'functions', mapOf({}))) as SaltMap;
    const runners = found.get('runner') as SaltMap;
    const names = [...runners.keys()].filter((name) => !pyStr(name).startsWith('harmful.'));
    expect(names).toEqual([
      'more.double',
      ...['site.answer', 'site.code', 'site.facts', 'site.fails', 'site.greet', 'site.logs'],
      ...['site.steps', 'site.values'],
    ]);
    expect(runners.get('site.greet')).toContain('Who is greeted.');
    expect(found.get('wheel')).toEqual(mapOf({ 'site_keys.count': 'Counts.' }));
  });

  it('gives runners what Salt gives them', async () => {
    expect(await valueOf('site.facts')).toEqual(
      mapOf({
        user: 'str',
        jid: 20,
        tag: true,
        master: 'north',
        brine: false,
        own: 'Hello, loader!',
        other: 42,
        context: [],
      }),
    );
    expect(await valueOf('site.greet', ['you'], { kwargs: mapOf({ x: 1 }) })).toEqual(
      mapOf({ text: 'Hello, you!', more: mapOf({ x: 1 }) }),
    );
    const wheel = { kind: 'wheel', kwargs: mapOf({ start: 1 }) };
    expect(await valueOf('site_keys.count', [[1, 2]], wheel)).toEqual(
      mapOf({ sum: 4, user: 'str' }),
    );
  });

  it('hands over arguments as they were judged: a text or a map becomes no keyword', async () => {
    const greeted = async (name: SaltValue): Promise<SaltValue | undefined> =>
      ((await valueOf('site.greet', [name])) as SaltMap).get('text');
    expect(await greeted('greeting=Hi')).toBe('Hello, greeting=Hi!');
    expect(await greeted(mapOf({ __kwarg__: true, greeting: 'Hi' }))).toBe(
      "Hello, {'__kwarg__': True, 'greeting': 'Hi'}!",
    );
    const unknown = await valueOf('more.double', [1], { kwargs: mapOf({ other: 1 }) });
    expect([...(unknown as SaltMap).keys()]).toEqual(['more.double']);
  });

  it('hands over values as Salt packs them', async () => {
    const value = (await valueOf('site.values')) as SaltMap;
    expect(value.get('tuple')).toEqual([1, 'two']);
    expect(value.get('int key')).toEqual(new Map([[1, 'one']]));
    expect(value.get('large')).toBe(2n ** 62n);
    expect(value.get('larger')).toBe(String(2n ** 70n));
    expect(pack(value.get('day') ?? null).toString('latin1')).toContain('20261126T03:04:05.000000');
  });

  it('hands over events while a runner runs', async () => {
    const events: [string, SaltValue][] = [];
    await run('site.steps', [3], {}, (tag, data) => events.push([tag, data]));
    expect(events).toEqual([0, 1, 2].map((step) => ['progress', mapOf({ step })]));
  });

  it('tells success and exit code as Salt does', async () => {
    const code = await run('site.code', [7]);
    expect([code.get('success'), code.get('retcode')]).toEqual([false, 7]);
    const fails = await run('site.fails');
    expect(fails.get('success')).toBe(false);
    expect(pyStr(fails.get('value') ?? null)).toMatch(
      /^Exception occurred in runner site\.fails: Traceback[^]*the site is closed\n$/,
    );
    expect(pyStr((await valueOf('site.greet', [])) ?? null)).toMatch(
      /Passed invalid arguments: .*'name'/,
    );
    expect((await failureOf(run('site.nothing'))).code).toBe('unknown');
    expect((await failureOf(run('site._private'))).code).toBe('unknown');
  });

  it('makes external pillars, of the site and of Salt', async () => {
    const args = [mapOf({ a: mapOf({ b: 1 }) }), mapOf({ a: mapOf({ c: 2 }) })];
    const given = pillarOf('external', { name: 'layers', args, pillar: mapOf({ z: 1 }) });
    expect(await host.call('pillar', 'external', given)).toEqual(
      mapOf({
        a: mapOf({ b: 1, c: 2 }),
        layered: mapOf({ id: 'web1', of: 'north', grain: 'w', seen: ['z'], called: 3 }),
      }),
    );
    const stack = { name: 'stack', args: [join(sandbox.dir, 'site/stack/stack.cfg')] };
    const stacked = await host.call(
      'pillar',
      'external',
      pillarOf('stack', { ...stack, pillar: mapOf({}) }),
    );
    expect(stacked).toEqual(
      mapOf({
        stacked: mapOf({
          list: ['a', 'b', 'c'],
          map: mapOf({ from: 'north', kept: true }),
          id: 'web1',
        }),
      }),
    );
    const broken = pillarOf('broken', { name: 'broken', args: 'why', pillar: mapOf({}) });
    const failure = await failureOf(host.call('pillar', 'external', broken));
    expect([failure.code, failure.python, failure.message]).toEqual([
      'raised',
      'ValueError',
      'why',
    ]);
  });

  it('tells states by kinds of master_tops', async () => {
    const given = mapOf({ name: 'by_role', id: 'web1', grains: mapOf({ role: 'db' }) });
    expect(await host.call('pillar', 'top', given)).toEqual(
      mapOf({ base: ['role.db', 'of.web1'] }),
    );
  });

  it('shows data by outputters of the site', async () => {
    expect(await host.call('output', 'has', mapOf({ name: 'shout' }))).toBe(true);
    expect(await host.call('output', 'has', mapOf({ name: 'whisper' }))).toBe(false);
    const shown = {
      name: 'shout',
      data: mapOf({ a: 1 }),
      retcode: 0,
      options: mapOf({ color: true }),
    };
    expect(await host.call('output', 'output', mapOf(shown))).toBe("{'A': 1}!");
    const picky = mapOf({ ...shown, name: 'picky' });
    expect((await failureOf(host.call('output', 'output', picky))).python).toBe('KeyError');
  });

  it('hands events to returners of event_return', async () => {
    const events = [1, 2].map((n) => mapOf({ tag: `salt/job/${n}/new`, data: mapOf({ n }) }));
    await deliverEvents(host, 'to_file', events);
    expect(await writtenEvents(config)).toEqual([
      { tag: 'salt/job/1/new', data: { n: 1 } },
      { tag: 'salt/job/2/new', data: { n: 2 } },
    ]);
    const failure = await failureOf(deliverEvents(host, 'nowhere', events));
    expect(failure.code).toBe('unknown');
  });

  it('has neither passwords nor descriptors of the master', async () => {
    process.env['BRINE_TEST_SECRET'] = 'secret';
    const found = (await valueOf('harmful.environment')) as SaltMap;
    delete process.env['BRINE_TEST_SECRET'];
    const names = found.get('names') as string[];
    expect(names.filter((name) => /BRINE|NATS|DATABASE|PG|NODE_OPTIONS/.test(name))).toEqual([]);
    const descriptors = (found.get('descriptors') as string[]).map((one) => one.split(':')[0]);
    // stdin; stdout, stderr and the way to the master; the directory that is listed.
    expect(descriptors.filter((one) => one === 'socket').length).toBeLessThanOrEqual(3);
    expect(descriptors.filter((one) => /ipc|nats|postgres/.test(one ?? ''))).toEqual([]);
    expect(descriptors.length).toBeLessThanOrEqual(6);
  });

  it('what modules print breaks nothing, and is in the log, bounded', async () => {
    expect(await valueOf('harmful.noise')).toBe('quiet');
    expect(await valueOf('site.logs')).toBe(true);
    await until('the lines are logged', () =>
      lines.some((line) => line.includes('noise on stderr')),
    );
    expect(lines.filter((line) => /python runner: line \d/.test(line)).length).toBeLessThan(250);
  });

  it.each([
    ['hangs', 'harmful.hang', 'late', new RegExp(`ran longer than ${RUNNER_MS / 1000} s`)],
    ['ends its process', 'harmful.leave', 'ended', /ended with code 3/],
    ['reads what is not there', 'harmful.fault', 'ended', /SIGSEGV/],
    ['takes all memory', 'harmful.eat', 'raised', /MemoryError/],
    ['returns too much', 'harmful.large', 'raised', /larger than 64 MiB/],
    ['returns what cannot be sent', 'harmful.foreign', 'raised', /serialize/],
  ])('a module that %s harms its own call only', async (_what, fun, code, text) => {
    const others = Promise.all([1, 2, 3].map((n) => valueOf('more.double', [n])));
    const args = fun === 'harmful.large' ? [65 * 1024 * 1024] : [];
    const failure = await failureOf(run(fun, args));
    expect([failure.code, failure.message]).toEqual([code, expect.stringMatching(text)]);
    expect(await others).toEqual([2, 4, 6]);
    expect(await Promise.all([4, 5, 6, 7, 8].map((n) => valueOf('more.double', [n])))).toEqual([
      8, 10, 12, 14, 16,
    ]);
  });

  it('a module that calls sys.exit fails as under Salt; one that forks answers once', async () => {
    expect(pyStr((await valueOf('harmful.exits')) ?? null)).toMatch(/SystemExit: 4/);
    expect(await valueOf('harmful.fork')).toEqual(expect.any(Number));
    expect(await valueOf('more.double', [1])).toBe(2);
  });

  it('what a hanging module started ends with it', async () => {
    const sleeping = (): string[] =>
      readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid) === 'sleep 3597');
    await failureOf(run('harmful.hang'));
    await until('nothing sleeps', () => sleeping().length === 0);
  });

  it('files of modules that change are seen at the next call', async () => {
    expect(await valueOf('more.double', [2])).toBe(4);
    const file = join(sandbox.dir, 'site/more_runners/more.py');
    await writeFile(file, 'def double(number):\n    """Changed."""\n    return [number] * 2\n');
    expect(await valueOf('more.double', [2])).toEqual([2, 2]);
    await writeFile(file, 'def double(number):\n    return 2 * number\n');
    expect(await valueOf('more.double', [2])).toBe(4);
  });

  it('stateconf of no states fails at once, in a pillar that has the file', async () => {
    const roots = join(sandbox.dir, 'site/roots');
    const input = '#!stateconf\nv: 1\nw: x\n';
    const top = readFileSync(join(roots, 'top.sls'), 'utf8');
    await writeFile(join(roots, 'odd.sls'), input);
    const mark = join(sandbox.dir, 'compiled');
    const touch = `{% do salt['file.touch']('${mark}') %}`;
    await writeFile(join(roots, 'top.sls'), `${touch}base: {'*': [odd]}\n`);
    const names = { name: 'stateconf', argline: '', saltenv: 'base', sls: 'odd' };
    const file = { path: join(roots, 'odd.sls'), input, defaults: mapOf({}), pillar: mapOf({}) };
    const rendering = host.call('render', 'render', pillarOf('odd', { ...names, ...file }));
    const { message } = await failureOf(rendering);
    await writeFile(join(roots, 'top.sls'), top);
    expect(message).toContain('The type v in 1 is not formatted as a dictionary');
    // The pillar was not compiled for it once more, which would go on without end.
    expect(existsSync(mark)).toBe(false);
  });

  it('an interpreter that is not there, or has no Salt, says so', async () => {
    const settings = { configFile: '/x', memoryBytes: MEMORY, runnerMs: RUNNER_MS };
    const said: string[] = [];
    const without = async (python: string): Promise<string> => {
      const other = new PythonHost({ ...settings, python }, (_level, text) => said.push(text));
      const { code, message } = await failureOf(other.call('runner', 'functions', mapOf({})));
      other.close();
      return `${code}: ${message}`;
    };
    expect(await without('/nonexistent/python')).toMatch(/^start: brine\.python: .*ENOENT/);
    expect(await without('/bin/false')).toMatch(/^start: .*ended with code 1/);
    expect(said.join('\n')).toContain('/nonexistent/python');
  });
});

/** The words of a process; empty for one that has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
  } catch {
    return '';
  }
}

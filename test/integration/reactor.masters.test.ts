// The reactor of a whole master: events of minions and of the bus, runners that manage it, and what
// goes wrong in files.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, freePorts } from '@brine/testing';
import { readRecordedSpans, type RecordedSpan } from '@brine/testing/spans';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINION = 'one.example';

/** Files below the roots of the file server. `ROOTS` is the path of the directory they lie in. */
const FILES: Readonly<Record<string, string>> = {
  'react/started.sls': [
    'hello:',
    '  local.test.echo:',
    "    - tgt: {{ data['id'] }}",
    '    - arg:',
    '      - started by {{ tag }}',
  ].join('\n'),
  'react/ping.sls': "ping:\n  local.test.arg:\n    - tgt: '*'\n    - arg: [{{ data['n'] }}]\n",
  'react/run.sls': [
    'run:',
    '  runner.state.orchestrate:',
    '    - args:',
    '      - mods: orch.ping',
    '      - pillar:',
    "          who: {{ data['who'] }}",
  ].join('\n'),
  'react/bad.sls': "bad:\n  local.test.ping:\n    - tgt: {{ data['no']['such'] }}\n",
  'react/values.yaml': 'word: from the roots',
  'react/inside.sls': readsWord('ROOTS/react/values.yaml'),
  'react/outside.sls': readsWord('ROOTS/../secret.yaml'),
  'react/beside.sls': readsWord('BESIDE/secret.yaml'),
  'react/endless.sls': [
    '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}',
    'never:',
    '  local.test.ping: []',
  ].join('\n'),
  'orch/ping.sls': [
    'ping:',
    '  salt.function:',
    '    - name: test.arg',
    "    - tgt: '*'",
    '    - arg:',
    "      - {{ pillar['who'] }}",
  ].join('\n'),
};

/** A reaction that calls with a word of a file of values. */
function readsWord(path: string): string {
  return [
    `{% import_yaml '${path}' as values %}`,
    'word:',
    '  local.test.echo:',
    "    - tgt: '*'",
    '    - arg:',
    '      - {{ values.word }}',
  ].join('\n');
}
const SECRET = 'the word of a secret';

const REACTOR = [
  { 'salt/minion/*/start': ['salt://react/started.sls'] },
  { 'my/ping': ['salt://react/ping.sls'] },
  { 'my/run': ['salt://react/run.sls'] },
  { 'my/inside': ['salt://react/inside.sls'] },
  { 'my/outside': ['salt://react/outside.sls', 'salt://react/beside.sls'] },
  { 'my/endless': ['salt://react/endless.sls'] },
  { 'my/bad': ['salt://react/bad.sls', 'salt://react/ping.sls', '/no/such/*.sls'] },
];

interface Job {
  readonly Function: string;
  readonly Arguments: readonly unknown[];
  readonly User: string;
}

describe('the reactor of a whole master', () => {
  let master: BrineMaster;
  let metricsPort: number;

  beforeAll(async () => {
    [metricsPort = 0] = await freePorts(1);
    const brine = { workers: 2, trace: 'all', metrics: { port: metricsPort } };
    master = await BrineMaster.start(
      { reactor: REACTOR, reactor_worker_threads: 4, brine },
      {
        onHome: async ({ configDir }) => {
          for (const [path, text] of Object.entries(FILES)) {
            await mkdir(join(configDir, 'files', path, '..'), { recursive: true });
            const placed = text.replace('ROOTS', join(configDir, 'files'));
            const whole = `${placed.replace('BESIDE', configDir)}\n`;
            await writeFile(join(configDir, 'files', path), whole);
          }
          await writeFile(join(configDir, 'secret.yaml'), `word: ${SECRET}\n`);
        },
      },
    );
    await master.startMinion(MINION);
    await master.acceptKeys([MINION]);
    await master.waitForMinions([MINION]);
  });
  afterAll(async () => {
    await master?.close();
  });

  async function run<T>(...args: readonly string[]): Promise<T> {
    const { stdout, stderr } = await master.brine('run', [...args, '--out', 'json']);
    if (stdout.trim() === '') throw new Error(`${args.join(' ')} printed nothing: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  const fire = (tag: string, data: object) => run('event.send', tag, JSON.stringify(data));

  /** The jobs that the cache has of a function with such arguments, by job id. */
  async function jobsOf(fun: string, argument: unknown): Promise<[string, Job][]> {
    const jobs = await run<Record<string, Job>>('jobs.list_jobs');
    const wanted = JSON.stringify(argument);
    return Object.entries(jobs).filter(
      ([, job]) => job.Function === fun && JSON.stringify(job.Arguments[0]) === wanted,
    );
  }

  const expected: [fun: string, argument: unknown][] = [];

  /** The job that comes of an event. That it is the only one is seen at the end. */
  async function jobOf(fun: string, argument: unknown): Promise<string> {
    let found: [string, Job][] = [];
    const isThere = async (): Promise<boolean> => {
      found = await jobsOf(fun, argument);
      return found.length > 0;
    };
    // Each look is a command of its own.
    await until(`a job ${fun} ${JSON.stringify(argument)}`, isThere, { withinMs: 60_000 });
    expected.push([fun, argument]);
    return found[0]?.[0] ?? '';
  }

  it('reacts to the start of a minion', async () => {
    const jid = await jobOf('test.echo', `started by salt/minion/${MINION}/start`);
    const stored = await run<Record<string, unknown>>('jobs.lookup_jid', jid);
    expect(stored).toEqual({ [MINION]: `started by salt/minion/${MINION}/start` });
  });

  it('publishes a job, whose trace begins with the event', async () => {
    await fire('my/ping', { n: 1 });
    const jid = await jobOf('test.arg', 1);
    const spans = (): Map<string, RecordedSpan> => {
      const all = readRecordedSpans(master.home.cacheDir);
      const own = all.filter(({ attributes }) => attributes['brine.jid'] === jid);
      return new Map(own.map((span) => [String(span.attributes['brine.part']), span]));
    };
    const part = (name: string): RecordedSpan | undefined =>
      [...spans()].find(([one]) => one.startsWith(name))?.[1];
    await until('the trace is written', () =>
      ['event', 'request', 'worker.publish', `worker.return.${MINION}`].every(part),
    );
    const trace = spans();
    const reaction = trace.get('request');
    expect(reaction?.parentSpanId).toBe(trace.get('event')?.spanId);
    const publish = part('worker.publish');
    expect(publish?.parentSpanId).toBe(reaction?.spanId);
    expect(trace.get('event')?.attributes['salt.tag']).toBe('my/ping');
  });

  it('runs an orchestration with the data of the event', async () => {
    await fire('my/run', { who: 'somebody' });
    const jid = await jobOf('test.arg', 'somebody');
    expect(jid).toMatch(/^\d{20}$/);
  });

  it('a file that does not render is on record, and the others react', async () => {
    const before = await run<{ failed: unknown[] }>('reactor.failed', 'tag=my/bad');
    await fire('my/bad', { n: 2 });
    await jobOf('test.arg', 2);
    await until('the failures are on record', async () => {
      const { failed } = await run<{ failed: unknown[] }>('reactor.failed', 'tag=my/bad');
      return failed.length >= before.failed.length + 2;
    });
    const { failed } = await run<{ failed: { kind: string; what: string; why: string }[] }>(
      ...['reactor.failed', 'tag=my/bad'],
    );
    const kinds = failed.map(({ kind, what }) => `${kind} ${what}`).sort();
    expect(kinds).toEqual(['missing /no/such/*.sls', 'render react/bad.sls']);
    expect(failed.find(({ kind }) => kind === 'render')?.why).toContain('no');
    expect(await master.log()).toContain('a reaction failed');
  });

  it('a file names others by absolute paths below the roots, and no others', async () => {
    type Failed = { failed: { kind: string; what: string; why: string }[] };
    await fire('my/outside', {});
    await fire('my/inside', {});
    await jobOf('test.echo', 'from the roots');
    const { failed } = await until('the failures are on record', async () => {
      const found = await run<Failed>('reactor.failed', 'tag=my/outside');
      return found.failed.length >= 2 && found;
    });
    expect(failed.map(({ kind, what }) => `${kind} ${what}`).sort()).toEqual([
      'render react/beside.sls',
      'render react/outside.sls',
    ]);
    for (const { why } of failed) expect(why).toContain('secret.yaml');
    expect(await jobsOf('test.echo', SECRET)).toEqual([]);
    const log = await master.log();
    expect(log).toMatch(/\[ERROR.*a reaction failed.*react\/outside\.sls/);
    expect(JSON.stringify(failed) + log).not.toContain(SECRET);
  });

  it('a file that never ends harms its own reactions, which are counted', async () => {
    const failures = () =>
      run<{ counted: number; failed: { kind: string; why: string }[] }>(
        ...['reactor.failed', 'tag=my/endless'],
      );
    const before = await failures();
    for (const n of [0, 1]) await fire('my/endless', { n });
    await fire('my/ping', { n: 9 });
    await jobOf('test.arg', 9);
    const { counted, failed } = await until(
      'all are on record',
      async () => {
        const now = await failures();
        expect(now.failed).toHaveLength(2);
        return now;
      },
      { withinMs: 90_000 },
    );
    expect(counted).toBe(before.counted + 2);
    expect(new Set(failed.map(({ kind }) => kind))).toEqual(new Set(['render']));
    expect(await failuresMeasured('render')).toBeGreaterThanOrEqual(2);
  });

  /** Failures that the metrics of all workers count. */
  async function failuresMeasured(reason: string): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    const lines = (await answer.text()).split('\n');
    return lines
      .filter((line) => line.startsWith('brine_reactor_failures_total{'))
      .filter((line) => line.includes(`reason="${reason}"`))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  it('an entry is added and taken out for all workers, and outlives a restart', async () => {
    const add = ['reactor.add', 'added/*', 'reactors=salt://react/ping.sls'];
    expect(await run(...add)).toEqual({ status: true, comment: 'Reactor added.' });
    expect(await run(...add)).toEqual({ status: false, comment: 'Reactor already exists.' });
    expect(await run('reactor.list')).toEqual([
      ...REACTOR,
      { 'added/*': ['salt://react/ping.sls'] },
    ]);
    await fire('added/1', { n: 3 });
    await jobOf('test.arg', 3);
    await master.restart();
    await master.waitForMinions([MINION]);
    await fire('added/2', { n: 4 });
    await jobOf('test.arg', 4);
    expect(await run('reactor.delete', 'added/*')).toEqual({
      status: true,
      comment: 'Reactor deleted.',
    });
    await fire('added/3', { n: 5 });
    await fire('my/ping', { n: 6 });
    await jobOf('test.arg', 6);
    expect(await jobsOf('test.arg', 5)).toEqual([]);
  });

  it('reacts to nothing while it is not the leader', async () => {
    expect(await run('reactor.is_leader')).toBe(true);
    expect(await run('reactor.set_leader', 'False')).toBe(false);
    await fire('my/ping', { n: 7 });
    const isMatched = async (): Promise<boolean> => {
      const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
      return /^brine_reactor_events_total\{.*outcome="not_leader".*\} [1-9]/m.test(
        await answer.text(),
      );
    };
    await until('it is matched', isMatched);
    expect(await run('reactor.set_leader')).toBe(true);
    await fire('my/ping', { n: 8 });
    await jobOf('test.arg', 8);
    expect(await jobsOf('test.arg', 7)).toEqual([]);
  });

  it('has reacted to each event once', async () => {
    expect(expected.length).toBeGreaterThan(5);
    for (const [fun, argument] of expected) {
      expect(await jobsOf(fun, argument), `${fun} ${String(argument)}`).toHaveLength(1);
    }
  });
});

it('without a reactor its runner says so', async () => {
  await using master = await disposable(BrineMaster.start({ brine: { workers: 1 } }));
  const { code, stdout } = await master.brine('run', ['reactor.list']);
  expect(stdout).toContain('Reactor system is not running.');
  expect(code).toBe(1);
});

async function disposable(starting: Promise<BrineMaster>): Promise<BrineMaster & AsyncDisposable> {
  const master = await starting;
  return Object.assign(master, { [Symbol.asyncDispose]: () => master.close() });
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@brine/testing/waits';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AttackedMaster } from './attacked-master.ts';
import { ask } from './hostile/besieged-master.ts';

/*
 * What users with limited rights have the master do for them: each way in × each inner act. None
 * does what its user may not do itself, and what is done is on record under the name of that user.
 */

const STEPS = `
job:
  salt.function:
    - name: cmd.run
    - tgt: a
    - arg: ['true']
run:
  salt.runner:
    - name: salt.execute
    - tgt: a
    - fun: cmd.run
key:
  salt.wheel:
    - name: key.accept
    - match: a
    - include_denied: true
`;
const PING = 'ping:\n  salt.function:\n    - name: test.ping\n    - tgt: a\n';

const SECRET = 'hidden-of-git';

let it: AttackedMaster;

beforeAll(async () => {
  it = await AttackedMaster.start(
    {
      gitfs_password: SECRET,
      order_masters: false,
      peer: { a: ['test.ping'] },
      peer_run: { a: ['salt.execute', 'state.orchestrate', 'manage.up'] },
      runner_queue: { queue: 'work', backend: 'pgjsonb' },
    },
    ({ configDir }) => {
      const dir = join(configDir, 'files');
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, 'steps.sls'), STEPS);
      writeFileSync(join(dir, 'ping.sls'), PING);
    },
  );
});
afterAll(() => it?.close());

const login = (username: string) => ({
  eauth: 'file',
  username,
  password: `secret of ${username}`,
});
const root = () => ({ user: 'root', key: it.rootKey });

/** Runs a runner; gives its job id and what it returned. */
async function run(
  who: Readonly<Record<string, SaltValue>>,
  fun: string,
  arg: readonly SaltValue[] = [],
  kwarg: SaltMap = mapOf({}),
): Promise<{ readonly jid: string; readonly shown: string }> {
  const given = mapOf({ arg: [...arg], kwarg });
  const answer = await ask(it, { cmd: 'runner', fun, kwarg: given, ...who });
  const jid = textOf(answer, 'jid');
  if (jid === undefined) throw new Error(`${fun}: ${shownText(answer)}`);
  return { jid, shown: await resultOf(jid) };
}

async function resultOf(jid: string): Promise<string> {
  let shown = '';
  await until(
    `run ${jid} has ended`,
    async () => {
      const page = await ask(it, {
        cmd: 'brine_query',
        query: 'get_jid',
        args: mapOf({ jid }),
        ...root(),
      });
      const returns = mapIn(mapIn(page, 'value') ?? mapOf({}), 'returns');
      shown = shownText(returns ?? null);
      return (returns?.size ?? 0) > 0;
    },
    { withinMs: 60_000 },
  );
  return shown;
}

function shownText(value: SaltValue): string {
  if (isMap(value))
    return `{${[...value].map((pair) => pair.map(shownText).join(': ')).join(', ')}}`;
  return Array.isArray(value) ? `[${value.map(shownText).join(', ')}]` : pyStr(value);
}

/** Rows on record, the newest first. */
async function rows(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { stdout } = await it.master.brine('run', ['audit.list', 'limit=1000', '--out', 'json']);
  return JSON.parse(stdout) as Record<string, unknown>[];
}

/** Functions of all jobs that were published. */
async function published(): Promise<readonly string[]> {
  const { stdout } = await it.master.brine('run', ['jobs.list_jobs', '--out', 'json']);
  return Object.values(JSON.parse(stdout) as Record<string, { readonly Function: string }>).map(
    (job) => job.Function,
  );
}

const execute: [string, SaltValue[]] = ['salt.execute', ['a', 'cmd.run', ['true']]];
const data = mapOf({
  x: mapOf({ salt: ['function', mapOf({ name: 'cmd.run' }), mapOf({ tgt: 'a' })] }),
  y: mapOf({ salt: ['wheel', mapOf({ name: 'key.delete' }), mapOf({ match: 'b' })] }),
});

describe.each(['rick', 'olga'])('%s has the master run no command on a minion', (user) => {
  test.each<[string, SaltValue[], SaltMap?]>([
    ['state.orchestrate', ['steps']],
    ['state.orchestrate_single', ['salt.function', 'cmd.run'], mapOf({ tgt: 'a' })],
    ['state.orchestrate_high', [data]],
    ['queue.insert_runner', ['wheel.key.accept', ['a']]],
  ])('by %s', async (fun, arg, kwarg) => {
    const { shown } = await run(login(user), fun, arg, kwarg);
    expect(shown).toMatch(/not allowed|Authorization|not served/);
  });
});

test('rick causes nothing by the runners that take a function', async () => {
  const { shown } = await run(login('rick'), ...execute);
  expect(shown).toMatch(/Authorization/);
  const surveyed = await run(login('rick'), 'survey.hash', ['a', 'cmd.run', 'true']);
  expect(surveyed.shown).toMatch(/Authorization/);
  const mined = await run(
    login('rick'),
    'mine.update',
    ['a'],
    mapOf({ mine_functions: mapOf({ 'cmd.run': ['true'] }) }),
  );
  expect(mined.shown).toMatch(/Authorization/);
});

test('olga may not queue what she may not call, and process_runner judges again', async () => {
  const { shown } = await run(login('olga'), 'queue.insert_runner', execute);
  expect(shown).toContain('runner.salt.execute is not allowed for user olga');
  await run(root(), 'queue.insert_runner', execute);
  const processed = await run(login('olga'), 'queue.process_runner');
  expect(processed.shown).toContain('runner.salt.execute is not allowed for user olga');
});

test('what a user may do itself it may have done, under its name', async () => {
  const { jid, shown } = await run(
    login('olga'),
    'state.orchestrate',
    ['ping'],
    mapOf({ test: false }),
  );
  expect(shown).not.toMatch(/not allowed|Authorization/);
  await until('the job is on record', async () => {
    const all = await rows();
    const row = all.find(({ via }) => via === `runner.state.orchestrate ${jid}`);
    if (row === undefined) return false;
    expect(row).toMatchObject({ kind: 'publish', outcome: 'done', principal: 'olga' });
    return true;
  });
});

test('a right to manage.up covers the ping that it is made of', async () => {
  const { shown } = await run(login('olga'), 'manage.up', [], mapOf({ timeout: 1 }));
  expect(shown).not.toMatch(/Authorization/);
});

test('returns of another job can not be asked for, and events of the master not be forged', async () => {
  const job = { fun: 'test.ping', tgt: 'a', tgt_type: 'glob', arg: [], ret: '', jid: '' };
  const answer = await ask(it, { cmd: 'publish', ...job, ...root() });
  const jid = textOf(mapIn(answer, 'load') ?? mapOf({}), 'jid') ?? '';
  expect(jid).not.toBe('');
  await until('the job is stored', async () => {
    const args = mapOf({ jid });
    return isMap(
      (await ask(it, { cmd: 'brine_query', query: 'job', args, ...root() })).get('value') ?? null,
    );
  });
  const taken = await run(
    login('olga'),
    'state.orchestrate',
    ['ping'],
    mapOf({ orchestration_jid: `${jid}/x` }),
  );
  expect(taken.shown).toContain('no job id');
  const forged = await run(login('rick'), 'event.send', [
    `salt/job/${jid}/ret/a`,
    mapOf({ return: 1 }),
  ]);
  expect(forged.shown).toContain('Salt has this tag');
});

test('no secret of the configuration is shown to whoever may call everything', async () => {
  for (const fun of ['test.get_opts', 'config.get']) {
    const { shown } = await run(login('rick'), fun, fun === 'config.get' ? ['gitfs_password'] : []);
    expect(shown).not.toContain(SECRET);
  }
  const wheel = await ask(it, { cmd: 'wheel', fun: 'config.values', ...login('wanda') });
  expect(shownText(wheel)).toContain('gitfs_password');
  expect(shownText(wheel)).not.toContain(SECRET);
});

test('a minion has its runners do what peer says', async () => {
  const [fun, arg] = execute;
  expect(await it.sealed('minion_runner', { fun, arg: [...arg] })).toMatch(/Authorization/);
  // What its steps came to, the last test sees.
  await it.sealed('minion_runner', { fun: 'state.orchestrate', arg: ['steps'] });
  const pinged = await it.sealed('minion_runner', { fun: 'manage.up', arg: ['timeout=1'] });
  expect(pinged).not.toMatch(/Authorization/);
});

test('after all that nothing was run or changed, and each row names its user', async () => {
  expect(await published()).not.toContain('cmd.run');
  const { stdout } = await it.master.brine('key', ['-L', '--out', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ minions: ['a', 'b'] });
  const all = await rows();
  const inner = all.filter(({ via }) => via !== undefined);
  expect(inner.length).toBeGreaterThan(10);
  const byRoot = inner.filter(
    ({ principal, outcome }) => principal === 'root' && outcome !== 'done',
  );
  expect(byRoot).toEqual([]);
  const commands = all.filter(({ kind, fun }) => kind === 'publish' && fun === 'cmd.run');
  expect(new Set(commands.map(({ principal }) => principal))).toEqual(
    new Set(['rick', 'olga', 'a']),
  );
  expect(new Set(commands.map(({ outcome }) => outcome))).toEqual(new Set(['AuthorizationError']));
});

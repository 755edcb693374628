/**
 * What it takes to see what the minions of a job gave: groups and states of many runs of states,
 * the first time and again, and groups of a small return of many minions.
 * PostgreSQL is one of its own, unless DATABASE_URL names another of this machine (an empty one: it
 * is filled and left so).
 * Run: npx tsx --conditions=source libs/job-cache/bench/groups.ts [runs] [states] [pings]
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@brine/postgres-server';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { JobCache } from '../src/job-cache.ts';
import type { ReturnRow } from '../src/save/rows.ts';

const [RUNS = 1_000, STATES = 200, PINGS = 100_000] = process.argv.slice(2).map(Number);
const TIMES = 7;
const AT_ONCE = 200;
const NOW = Date.now();
const DAY = new Date(NOW).toISOString().slice(0, 10).replaceAll('-', '');

/** A run of states: a state failed on one minion of 100, and changed something on one of ten. */
function stateRun(minion: number): SaltValue {
  const states = Array.from({ length: STATES }, (_, at): [SaltValue, SaltValue] => {
    const name = `/etc/app/conf.d/${at}.conf`;
    const hasFailed = minion % 100 === 0 && at === 7;
    const hasChanged = minion % 10 === 0 && at % 20 === 0;
    return [
      `file_|-conf ${at}_|-${name}_|-managed`,
      mapOf({
        name,
        changes: hasChanged
          ? mapOf({ diff: `--- \n+++ \n@@ -1 +1 @@\n-old\n+new ${minion}\n` })
          : mapOf({}),
        result: !hasFailed,
        comment: hasFailed ? 'Unable to manage file' : `File ${name} is in the correct state`,
        __sls__: 'app.conf',
        __run_num__: at,
        start_time: `08:${String(minion % 60).padStart(2, '0')}:00.123456`,
        duration: 1 + ((minion * 7 + at) % 90) / 10,
        __id__: `conf ${at}`,
      }),
    ];
  });
  return new Map(states);
}

interface Returned {
  readonly fun: string;
  readonly count: number;
  readonly value: (minion: number) => SaltValue;
}

async function fill(cache: JobCache, jid: string, { fun, count, value }: Returned): Promise<void> {
  const ids = Array.from({ length: count }, (_, at) => `minion-${at}.example.org`);
  const load = pack(
    mapOf({ cmd: 'publish', fun, arg: [], tgt: '*', tgt_type: 'glob', user: 'root' }),
  );
  await cache.saveJobs([
    {
      jid,
      load,
      principal: 'root',
      user: 'root',
      fun,
      tgt: '*',
      tgtType: 'glob',
      minions: ids,
      missing: [],
      publishedAt: NOW,
      deadlineAt: NOW + 3_600_000,
      incarnation: 'b',
      seq: 1,
    },
  ]);
  for (let at = 0; at < count; at += AT_ONCE) {
    const rows = ids.slice(at, at + AT_ONCE).map((id, index): ReturnRow => {
      const more = { retcode: 0, success: true };
      const given = mapOf({ id, jid, fun, fun_args: [], return: value(at + index), ...more });
      return { jid, id, load: pack(given), receivedAt: NOW, incarnation: 'b', seq: at + index };
    });
    await cache.saveReturns(rows);
  }
}

async function time(name: string, ask: () => Promise<string>, times = TIMES): Promise<void> {
  const taken: number[] = [];
  let shown = '';
  for (let run = 0; run < times; run += 1) {
    const begun = performance.now();
    shown = await ask();
    taken.push(performance.now() - begun);
  }
  const median = taken.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
  console.log(`${name}: ${median.toFixed(0)} ms, ${shown}`);
}

const dir = await mkdtemp(join(tmpdir(), 'brine-bench-'));
await chmod(dir, 0o755);
const given = process.env['DATABASE_URL'];
const server = given === undefined ? await startPostgres({ dir }) : undefined;
const cache = await JobCache.connect(given ?? server?.url ?? '');
try {
  const [runs, pings] = [`${DAY}010101000001`, `${DAY}010101000002`];
  await fill(cache, runs, { fun: 'state.apply', count: RUNS, value: stateRun });
  await fill(cache, pings, { fun: 'test.ping', count: PINGS, value: () => true });
  const groups = (jid: string, likeness: 'exact' | 'states') => async (): Promise<string> => {
    const { groups: found, more, isWhole } = await cache.pages.groups(jid, { limit: 50, likeness });
    return `${found.length + more} groups${isWhole ? '' : ', not whole'}`;
  };
  const states = async (): Promise<string> => {
    const { minions, states: found, more, isWhole } = await cache.pages.states(runs, { limit: 50 });
    return `${found.length + more} states of ${minions} minions${isWhole ? '' : ', not whole'}`;
  };
  await time(`groups of ${RUNS} runs of ${STATES} states, first`, groups(runs, 'states'), 1);
  await time('states of them', states);
  await time('groups of them, again', groups(runs, 'states'));
  await time('equal groups of them', groups(runs, 'exact'));
  await time(`groups of ${PINGS} pings`, groups(pings, 'exact'));
} finally {
  await cache.close();
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
}

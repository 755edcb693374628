import { startPostgres, type TestPostgres } from '@brine/testing';
import { drawn } from '@brine/testing/circle';
import { authLoad } from '@brine/testing/peers';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it as test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { AttackedMaster } from './attacked-master.ts';
import { clearRaw, jobIsStored, sendSealed } from './hostile/besieged-master.ts';
import { HOSTILE, withField } from './hostile/texts.ts';

/*
 * Every load, every field, every hostile text, to a whole master and its PostgreSQL. After each
 * field a job is published, returned and stored: no text stops a worker, a stream or the store.
 */

let postgres: TestPostgres;
let it: AttackedMaster;
const stored: number[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  it = await AttackedMaster.start({
    peer: { a: ['test.ping'] },
    peer_run: { a: ['test.arg'] },
    brine: { workers: 2, postgres: { url: postgres.url } },
  });
  stored.push(await jobIsStored(it));
});
afterAll(async () => {
  const worst = Math.round(Math.max(...stored));
  process.stdout.write(`${stored.length} jobs stored, the slowest after ${worst} ms\n`);
  await it?.close();
  await postgres?.stop();
});

/** Of the log, where an answer does not come. */
const LOG_SHOWN_CHARS = 6_000;

const JID = '20261122080000123456';
const JOB = { fun: 'test.ping', tgt: 'a', tgt_type: 'glob', arg: [], ret: '', jid: '' };
const LOGIN = { eauth: 'file', username: 'anne', password: 'x' };
const KWARGS = mapOf({ ...LOGIN, token: 'x', delimiter: ':', metadata: mapOf({ key: 'x' }) });
const RETURNED = {
  jid: JID,
  fun: 'test.ping',
  fun_args: ['x'],
  return: 'x',
  retcode: 0,
  success: true,
  out: 'x',
  user: 'x',
  master_id: 'x',
  metadata: mapOf({}),
  tgt: 'x',
  tgt_type: 'x',
};
const FILE = { path: 'x', saltenv: 'base' };

/** Loads in the clear; `root` gives the key of root, so that no log-in hides what comes after. */
const CLEAR: Readonly<Record<string, Readonly<Record<string, SaltValue>>>> = {
  publish: { ...JOB, root: 'x', traceparent: 'x', tracestate: 'x', kwargs: mapOf({}), other: 'x' },
  runner: { fun: 'jobs.active', root: 'x', kwarg: mapOf({ arg: ['x'] }), arg: ['x'], jid: 'x' },
  wheel: { fun: 'key.list', match: 'acc', root: 'x', hash_type: 'x' },
  mk_token: { ...LOGIN, token_expire: 1 },
  get_token: { token: 'x' },
  brine_query: { query: 'list_jobs', root: 'x', args: mapOf({ searchFunction: 'x' }) },
  ping: { id: 'x', data: 'x' },
  nothing: { id: 'x' },
};

const SEALED: Readonly<Record<string, Readonly<Record<string, SaltValue>>>> = {
  _return: RETURNED,
  _minion_event: { tag: 'my/tag', data: mapOf({ x: 1 }), pretag: null, grains: mapOf({}) },
  _syndic_return: { load: [], jid: JID, fun: 'x', return: mapOf({ a: mapOf({ return: 1 }) }) },
  _mine: { data: mapOf({ x: 1 }), clear: false },
  _mine_get: { tgt: '*', fun: 'x', tgt_type: 'glob' },
  _mine_delete: { fun: 'x' },
  _pillar: { grains: mapOf({ os: 'x' }), saltenv: null, pillarenv: null, ver: '2', ext: null },
  _serve_file: { ...FILE, loc: 0 },
  _file_find: FILE,
  _file_list: { saltenv: 'base', prefix: '', fsbackend: 'x' },
  _file_recv: { path: ['x'], loc: 0, data: 'x', size: 1 },
  minion_pub: { ...JOB, tmo: 1 },
  minion_runner: { fun: 'test.arg', arg: ['x'] },
  pub_ret: { jid: JID },
  _register_resources: { resources: mapOf({}) },
};

/** A change sends some of the texts to every field. */
const TEXTS = drawn('hostile texts', Object.entries(HOSTILE), 4, ([name]) => name);

/** What each field is given: the text itself, in a list, as a value and as a key. */
const WAYS: readonly ((text: SaltValue) => SaltValue)[] = [
  (text) => text,
  (text) => [text, text],
  (text) => new Map<SaltValue, SaltValue>([['key', text]]),
  (text) => new Map<SaltValue, SaltValue>([[text, 1]]),
];

/** Sends the load once for each text and way, then sees that a job is stored. */
async function besiege(
  load: () => SaltMap,
  field: string,
  send: (load: SaltMap) => Promise<string>,
): Promise<void> {
  for (const [, text] of TEXTS) {
    for (const way of WAYS) {
      const hostile = withField(load(), field, way(text));
      expect(typeof (await send(hostile).catch(() => again(hostile, send)))).toBe('string');
    }
  }
  stored.push(await jobIsStored(it));
}

/**
 * A minion that gets no answer sends the same again, twice here (salt/channel/client.py): where
 * all workers were silent for seconds, as on a starved machine, its request is left unanswered.
 */
async function again(load: SaltMap, send: (load: SaltMap) => Promise<string>): Promise<string> {
  const log = (): Promise<string> => it.master.log().then((text) => text.slice(-LOG_SHOWN_CHARS));
  process.stdout.write(`no answer at once; the log ends with\n${await log()}\n`);
  return send(load).catch(async (error: unknown) => {
    throw new Error(`no answer, and the log ends with\n${await log()}`, { cause: error });
  });
}

function clearLoad(cmd: string): SaltMap {
  const { root, ...fields } = CLEAR[cmd] ?? {};
  const key = root === undefined ? {} : { key: it.rootKey, user: 'root' };
  return mapOf({ cmd, ...fields, ...key });
}

describe.each(Object.keys(CLEAR))('a clear load of %s', (cmd) => {
  const fields = Object.keys(CLEAR[cmd] ?? {}).flatMap((name) =>
    name === 'root' ? ['key', 'user'] : [name],
  );
  test.each([...fields, 'cmd', 'unknown'])('with a hostile %s stops nothing', async (field) => {
    await besiege(
      () => clearLoad(cmd),
      field,
      (load) => clearRaw(it, load),
    );
  });
});

describe('a publish with a log-in', () => {
  test.each([...KWARGS.keys(), 'user', 'metadata.key', 'unknown'].map(String))(
    'with a hostile kwargs %s stops nothing',
    async (field) => {
      const load = (): SaltMap => mapOf({ cmd: 'publish', ...JOB, user: 'x', kwargs: KWARGS });
      await besiege(load, `kwargs.${field}`, (one) => clearRaw(it, one));
    },
  );

  test.each(['metadata', 'ret_config', 'ret_kwargs', 'module_executors', 'unknown'])(
    'by root with hostile kwargs %s stops nothing',
    async (field) => {
      const load = (): SaltMap => clearLoad('publish').set('kwargs', mapOf({}));
      await besiege(load, `kwargs.${field}`, (one) => clearRaw(it, one));
    },
  );
});

describe('a log-in', () => {
  test.each(['id', 'pub', 'nonce', 'token', 'enc_algo', 'sig_algo', 'autosign_grains'])(
    'with a hostile %s stops nothing',
    async (field) => {
      await besiege(
        () => authLoad({ id: 'stranger', key: it.a.key }),
        field,
        (load) => clearRaw(it, load),
      );
    },
  );
});

describe.each(Object.keys(SEALED))('a sealed load of %s', (cmd) => {
  test.each([...Object.keys(SEALED[cmd] ?? {}), 'id', 'nonce', 'tok', 'traceparent', 'unknown'])(
    'with a hostile %s stops nothing',
    async (field) => {
      const load = (): SaltMap => sealedLoad(it.a, cmd, SEALED[cmd]);
      await besiege(load, field, (one) => sendSealed(it.a, one));
    },
  );
});

describe('afterwards', () => {
  test('nothing of it had to be put into quarantine', async () => {
    const database = new pg.Client({ connectionString: postgres.url });
    await database.connect();
    const { rows } = await database.query(
      'SELECT kind, sqlstate, reason, count(*)::int AS n FROM brine.quarantine GROUP BY 1, 2, 3',
    );
    await database.end();
    expect(rows).toEqual([]);
  });

  test('what is on record is whole, and every service is as it was', async () => {
    const { stdout, code } = await it.master.brine('run', ['audit.verify', '--out', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ intact: true });
    for (const service of await it.master.services()) expect(service.ready).toBe(true);
  });
});

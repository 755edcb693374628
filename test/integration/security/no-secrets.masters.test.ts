import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Jid, JidMaker, traceIdOf } from '@brine/job';
import { BrineMaster, freePorts, type SaltProcess } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { formsOf, storesWhat } from '@brine/testing/sinks';
import { readRecordedSpans } from '@brine/testing/spans';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { buildMinionEvent } from '@brine/wire/load';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** Part of every text here that no log may show: passwords, payloads, grains. */
const MARK = 'hush-7f3a9c';
const mark = (what: string): string => `${MARK}-${what}`;

let master: BrineMaster;
let minion: SaltProcess;
let peer: TestPeer;
let logFile: string;
let metricsPort: number;
const jids = new JidMaker();

/** Secrets that are not ours to choose, by name. */
const secrets = new Map<string, string>();

beforeAll(async () => {
  [metricsPort = 0] = await freePorts(1);
  master = await BrineMaster.start(
    {
      log_file: 'log/master',
      log_level_logfile: 'all',
      log_fmt_logfile: '%(jid)s%(minion_id)s<%(trace_id)s>[%(name)s][%(levelname)s] %(message)s',
      brine: {
        workers: 2,
        trace: 'all',
        metrics: { port: metricsPort },
      },
    },
    { logLevel: 'all' },
  );
  logFile = join(master.home.configDir, 'log', 'master');
  minion = await master.startMinion('good', { log_file: 'log', log_level_logfile: 'all' });
  peer = await TestPeer.make('raw', master.home.retPort);
  await peer.tryToSignIn(mapOf({ uuid: mark('autosign') }));
  await master.acceptKeys(['good', 'raw']);
  await master.waitForMinions(['good']);
});
afterAll(async () => {
  peer.close();
  await master.close();
});

async function metrics(accept: string): Promise<string> {
  const url = `http://127.0.0.1:${metricsPort}/metrics`;
  return (await fetch(url, { headers: { accept } })).text();
}

/** Files and texts that an operator may hand on: logs, traces, metrics. */
async function outputs(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  found.set('console of the master', await master.log());
  found.set('log_file of the master', readFileSync(logFile, 'utf8'));
  found.set('console of the minion', await minion.log());
  const all = readdirSync(master.sandbox.dir, { recursive: true, withFileTypes: true });
  for (const entry of all) {
    const path = join(entry.parentPath, entry.name);
    const isLog = /\.log$|^log$|\.jsonl$|services\.json$/.test(entry.name);
    if (entry.isFile() && isLog) found.set(path, readFileSync(path, 'utf8'));
  }
  for (const accept of ['text/plain', 'application/openmetrics-text']) {
    found.set(`metrics as ${accept}`, await metrics(accept));
  }
  const { stdout } = await master.brine('status', ['--out', 'json']);
  found.set('brine status', stdout);
  return found;
}

/** Sends what a minion and a client may send, good and bad, each with a mark in it. */
async function sayEverything(): Promise<void> {
  for (const load of clearLoads()) await peer.raw(clearEnvelope(load));
  await peer.raw(pack(mapOf({ enc: 'clear', load: mark('load'), version: 3 })));
  await peer.raw(pack(mapOf({ enc: 'aes', load: Buffer.from(mark('x')), id: 'raw', version: 3 })));
  await peer.raw(Buffer.from(mark('garbage')));
  expect(await peer.tryToSignIn(mapOf({ uuid: mark('autosign') }))).toBe(true);
  secrets.set('aes of the minion', peer.aes.keyString);
  secrets.set('session of the minion', peer.session.keyString);
  for (const load of sealedLoads()) await peer.send(load);
  await peer.send(buildMinionEvent('raw', 'lab/x', mark('tok')), Buffer.from(mark('tok')));
}

function clearLoads(): SaltMap[] {
  const job = { tgt: '*', fun: 'test.echo', arg: [mark('arg')], ret: '', jid: '', user: 'root' };
  const kwargs = { password: mark('eauth'), token: mark('token') };
  return [
    mapOf({ cmd: 'publish', ...job, key: mark('key') }),
    mapOf({ cmd: 'publish', ...job, fun: mapOf({ a: mark('fun') }), key: mark('key') }),
    mapOf({ cmd: 'publish', ...job, kwargs: mapOf(kwargs), eauth: 'pam', ...kwargs }),
    mapOf({ cmd: 'mk_token', eauth: 'pam', username: 'x', password: mark('password') }),
    mapOf({ cmd: 'runner', fun: 'jobs.active', kwarg: mapOf(kwargs), key: mark('key') }),
    mapOf({ cmd: 'wheel', fun: 'key.list', ...kwargs, eauth: 'pam' }),
    mapOf({ cmd: '_auth', id: 'bad', pub: mark('pub'), nonce: mark('nonce'), token: 'x' }),
    mapOf({ cmd: 'nothing', load: mark('unknown') }),
  ];
}

function sealedLoads(): SaltMap[] {
  const secret = mapOf({ password: mark('event'), nested: [mark('nested')] });
  const ret = { cmd: '_return', id: 'raw', success: true, retcode: 0, fun: 'lab.fun' };
  const marked = { return: mark('ret'), fun_args: [mark('fun_args')] };
  return [
    buildMinionEvent('raw', 'lab/pillar', secret),
    mapOf({ id: 'raw', cmd: '_minion_event', events: [mapOf({ tag: 'lab', data: secret })] }),
    mapOf({ id: 'raw', cmd: '_minion_event', tag: 7, data: secret }),
    mapOf({ ...ret, ...marked, jid: jids.next(Date.now()) }),
    mapOf({ ...ret, ...marked, jid: jids.next(Date.now()), return: `${mark('nul')}\0\ud800` }),
    mapOf({ ...ret, ...marked, jid: jids.next(Date.now()), retcode: secret, success: secret }),
    mapOf({ ...ret, ...marked, jid: jids.next(Date.now()), fun: ['a', 'b'], retcode: [9n] }),
    mapOf({ ...ret, ...marked, jid: mark('no-jid') }),
    mapOf({ ...ret, ...marked, jid: 'req' }),
    mapOf({ cmd: '_pillar', id: 'raw', grains: secret, pillar_override: secret, ver: '2' }),
    mapOf({ cmd: '_mine', id: 'raw', data: secret }),
    mapOf({ cmd: '_file_recv', id: 'raw', path: ['x'], loc: 0, data: Buffer.from(mark('file')) }),
    mapOf({ cmd: 'minion_runner', id: 'raw', fun: 'lab.run', arg: [mark('runner')] }),
    mapOf({
      cmd: 'minion_pub',
      id: 'raw',
      tgt: '*',
      fun: 'test.echo',
      arg: [mark('pub')],
      ret: '',
    }),
    mapOf({ cmd: 'nothing', id: 'raw', data: secret }),
  ];
}

/** Keys, and the passwords of NATS and PostgreSQL, as this master has made them. */
async function collectSecrets(): Promise<void> {
  const { cacheDir, pkiDir } = master.home;
  for (const name of readdirSync(cacheDir).filter((one) => one.endsWith('_key'))) {
    secrets.set(name, readFileSync(join(cacheDir, name), 'utf8').trim());
  }
  const pem = readFileSync(join(pkiDir, 'master.pem'), 'utf8').split('\n');
  pem.slice(1, -2).forEach((line, at) => secrets.set(`master.pem:${at + 2}`, line));
  for (const { name, pid } of await master.services()) {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    for (const pair of environment) {
      const [, variable = '', url = ''] = /^(NATS_URL|DATABASE_URL)=(.+)$/.exec(pair) ?? [];
      if (url !== '')
        secrets.set(`${variable} of ${name}`, decodeURIComponent(new URL(url).password));
    }
  }
}

it("no log, trace or metric tells a secret, an argument, a return or an event's data", async () => {
  const commands = [
    ['user.add', 'x', `password=${mark('useradd')}`],
    ['test.echo', mark('echo')],
    ['test.kwarg', `secret=${mark('kwarg')}`],
    ['cmd.run', `echo ${mark('out')}; echo ${mark('err')} >&2; exit 7`],
    ['cmd.run', `printf '${mark('nul')}\\000'`],
    ['test.exception', mark('exception')],
    ['test.echo', mark('async'), '--async'],
  ];
  for (const args of commands) await master.brine('salt', ['good', ...args]);
  const { stdout } = await master.brine('salt', ['good', 'test.echo', mark('heard'), '-t', '20']);
  // The test can fail: the marks do go all the way.
  expect(stdout).toContain(mark('heard'));
  await sayEverything();
  await master.brine('run', ['jobs.list_jobs', '--out', 'json']);
  await collectSecrets();
  expect([...secrets.keys()].join(' ')).toMatch(/root_key.*master\.pem:5.*NATS_URL.*DATABASE_URL/s);
  expect([...secrets.values()].filter((secret) => secret.length < 12)).toEqual([]);
  const spans = () => readRecordedSpans(master.home.cacheDir);
  await expect
    .poll(() => spans().filter(({ name }) => /return|event/.test(name)).length)
    .toBeGreaterThan(12);
  // The store counts returns, and its figures arrive some seconds later.
  await expect.poll(() => metrics('text/plain')).toContain('"lab.fun"');

  const found = await outputs();
  // Lines of a job carry its id and its trace, in the master and in the minion.
  const published =
    /^\[JID: (\d{20})\]<([0-9a-f]{32})>\[worker-pool-\d\]\[INFO\] published .* fun=test.echo/m;
  const [, jid = '', traceId] = published.exec(found.get('log_file of the master')!) ?? [];
  expect(traceId).toBe(traceIdOf(jid as Jid));
  expect(found.get('console of the minion')).toContain(`a job begins jid=${jid}`);
  const sought = [['mark', MARK] as const, ...secrets].map(([name, value]) => ({ name, value }));
  const forms = sought.flatMap(formsOf);
  const leaks = [...found].flatMap(([where, text]) =>
    storesWhat(Buffer.from(text), forms).map(
      ({ secret, form }) => `${secret} in ${where} (${form})`,
    ),
  );
  expect(leaks).toEqual([]);
});

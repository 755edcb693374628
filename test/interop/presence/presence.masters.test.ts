import { BrineMaster, newestOf, type SaltProcess, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AnsweringPeer } from './answering-peer.ts';
import { MinionNetwork } from './minion-network.ts';
import { PresenceLog } from './presence-log.ts';

/*
 * Two real minions and two simulated ones, each behind a network of its own, so that the master
 * sees each under another address.
 */

const VERSIONS = [newestOf('3006'), newestOf('3008')] as const;
const [OLD, NEW, FIRST, SECOND] = ['pres-old', 'pres-new', 'sim-1', 'sim-2'] as const;
const IDS: readonly string[] = [OLD, NEW, FIRST, SECOND];
const addressOf = (id: string): string => `127.77.1.${IDS.indexOf(id) + 1}`;
const GRACE_S = 15;
const HEARTBEAT = { zmq_heartbeat_ivl: 1_000, zmq_heartbeat_timeout: 3_000 };
/** A grace, a heartbeat that stays away, two ticks, and a slow machine. */
const TOLD = { withinMs: 60_000 };

let master: BrineMaster;
let log: PresenceLog;
const networks = new Map<string, MinionNetwork>();
const peers = new Map<string, AnsweringPeer>();
const real = new Map<string, SaltProcess>();

beforeAll(async () => {
  const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
  master = await BrineMaster.start({
    auto_accept: true,
    presence_events: true,
    loop_interval: 2,
    ...HEARTBEAT,
    brine: { workers: 2, presence_grace: GRACE_S },
  });
  log = await PresenceLog.open(master);
  const { publishPort, retPort } = master.home;
  for (const id of IDS) {
    const listen = addressOf(id).replace('127.77.1.', '127.77.0.');
    const options = { listen, from: addressOf(id), ports: [publishPort, retPort] };
    networks.set(id, await MinionNetwork.open(options));
  }
  for (const [at, id] of [OLD, NEW].entries()) {
    const venv = venvs[at];
    if (venv === undefined) throw new Error('no Salt');
    const config = { master: networkOf(id).listen };
    const home = await master.sandbox.minion(id, retPort, config);
    real.set(id, master.sandbox.startMinion(venv, home));
  }
  for (const id of [FIRST, SECOND]) {
    const at = { host: networkOf(id).listen, publishPort, retPort };
    peers.set(id, await AnsweringPeer.join(id, at));
  }
  await master.waitForMinions([OLD, NEW], 180_000);
});
afterAll(async () => {
  for (const peer of peers.values()) peer.close();
  await log?.[Symbol.asyncDispose]();
  await master?.close();
  for (const network of networks.values()) await network.close();
});

function networkOf(id: string): MinionNetwork {
  const network = networks.get(id);
  if (network === undefined) throw new Error(`no network of ${id}`);
  return network;
}

async function run(...words: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await master.brine('run', [...words, '--out', 'json']);
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as unknown;
}

it('minions are told as they come, and listed with the address they connect from', async () => {
  await until('all are told', () => {
    expect(log.changes.flatMap(({ added }) => added).sort()).toEqual([...IDS].sort());
    expect(log.listed).toEqual([...IDS].sort());
    return true;
  });
  expect(log.changes.flatMap(({ lost }) => lost)).toEqual([]);
  expect(await run('manage.present')).toEqual([...IDS].sort());
  expect(await run('manage.not_present')).toEqual([]);
  expect(await run('manage.joined', 'show_ip=True')).toEqual(
    Object.fromEntries(IDS.map((id) => [id, addressOf(id)])),
  );
});

it('a minion that is killed, and one whose network is cut, are lost; the others stay', async () => {
  const sinceMs = performance.now();
  await real.get(OLD)?.kill();
  networkOf(SECOND).cut();
  await until(
    'both are lost',
    () => {
      expect([...log.lostSince(sinceMs)].sort()).toEqual([OLD, SECOND].sort());
      return true;
    },
    TOLD,
  );
  expect(await run('manage.not_alived')).toEqual([OLD, SECOND].sort());
  expect(await run('manage.present')).toEqual([NEW, FIRST].sort());
});

it('jobs.why knows that it was not connected', async () => {
  const args = ['-L', `${OLD},${NEW}`, 'test.ping', '--async'];
  const { stdout } = await master.brine('salt', args);
  const [jid] = /\d{20}/.exec(stdout) ?? [];
  if (jid === undefined) throw new Error(`no job id in ${stdout}`);
  await until('the job is known', async () => {
    const why = JSON.stringify(await run('jobs.why', jid, OLD));
    expect(why).toContain('not connected at publish: its connection ended at ');
    return true;
  });
});

it('a minion whose network is back is new again', async () => {
  const sinceMs = performance.now();
  networkOf(SECOND).heal();
  await until('it is told', () => expect(log.newAt(SECOND, sinceMs)).toBeDefined(), TOLD);
  expect(await run('manage.present')).toEqual([NEW, FIRST, SECOND].sort());
});

// Fifty minions, real and simulated, behind networks of their own and shared ones: how long after
// its cause a minion is told lost, and that none is told lost that is connected.
import { BrineMaster, newestOf, type SaltProcess, saltVenv } from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnsweringPeer } from './answering-peer.ts';
import { MinionNetwork } from './minion-network.ts';
import { PresenceLog } from './presence-log.ts';

const VERSIONS = [newestOf('3006'), newestOf('3007'), newestOf('3008')];
/** Real minions: with an address of their own, and several of one address. */
const REAL_OWN = 4;
const REAL_SHARED = 2;
/** Simulated minions with an address of their own. */
const OWN = 20;
/** Networks with several simulated minions each. */
const SHARED_NETWORKS = 3;
const EACH = 8;
/** So many minutes with the usual options of a master; without it one with shorter times. */
const MINUTES = process.env['BRINE_PRESENCE_MINUTES'];
const IS_LONG = MINUTES !== undefined;
const CALM_MINUTES = Number(MINUTES ?? 1);
const GRACE_S = IS_LONG ? 30 : 15;
const LOOP_S = IS_LONG ? 5 : 2;
/** From the last sign of a peer to the end of its connection; by default 10 and 30 s. */
const HEARTBEAT_S = IS_LONG ? 40 : 4;
const HEARTBEAT = IS_LONG ? {} : { zmq_heartbeat_ivl: 1_000, zmq_heartbeat_timeout: 3_000 };
/** Grace, five questions, a tick: see docs/presence.md. */
const SHARED_S = GRACE_S + 140 + LOOP_S;
/** After a publisher began none is lost for so long. */
const HERD_S = 60;
const SLACK_S = 45;

interface Row {
  readonly cause: string;
  readonly id: string;
  readonly seconds: number;
}

describe('fifty minions', () => {
  let master: BrineMaster;
  let log: PresenceLog;
  const networks: MinionNetwork[] = [];
  const real = new Map<string, SaltProcess>();
  const peers = new Map<string, AnsweringPeer>();
  const networkBy = new Map<string, MinionNetwork>();
  const rows: Row[] = [];
  let beganMs = 0;

  async function network(): Promise<MinionNetwork> {
    const at = networks.length + 1;
    const { publishPort, retPort } = master.home;
    const options = { listen: `127.78.0.${at}`, from: `127.78.1.${at}` };
    const opened = await MinionNetwork.open({ ...options, ports: [publishPort, retPort] });
    networks.push(opened);
    return opened;
  }

  async function join(id: string, by: MinionNetwork): Promise<void> {
    const { publishPort, retPort } = master.home;
    networkBy.set(id, by);
    peers.set(id, await AnsweringPeer.join(id, { host: by.listen, publishPort, retPort }));
  }

  async function startReal(id: string, by: MinionNetwork): Promise<void> {
    const version = VERSIONS[real.size % VERSIONS.length];
    if (version === undefined) throw new Error('no Salt');
    const venv = await saltVenv(version);
    const home = await master.sandbox.minion(id, master.home.retPort, { master: by.listen });
    networkBy.set(id, by);
    real.set(id, master.sandbox.startMinion(venv, home, { logLevel: 'warning' }));
  }

  beforeAll(async () => {
    master = await BrineMaster.start({
      auto_accept: true,
      presence_events: true,
      loop_interval: LOOP_S,
      ...HEARTBEAT,
      brine: { runners: 2, presence_grace: GRACE_S },
    });
    beganMs = performance.now();
    log = await PresenceLog.open(master);
    for (let at = 0; at < REAL_OWN; at += 1) await startReal(`real-${at}`, await network());
    for (let at = 0; at < OWN; at += 1) await join(`own-${at}`, await network());
    await master.waitForMinions([...real.keys()], 300_000);
  }, 900_000);

  afterAll(async () => {
    for (const peer of peers.values()) peer.close();
    await log?.[Symbol.asyncDispose]();
    await master?.close();
    await Promise.all(networks.map((one) => one.close()));
    const lines = rows.map(
      ({ cause, id, seconds }) => `| ${cause} | ${id} | ${seconds.toFixed(1)} |`,
    );
    process.stdout.write(
      `${['| cause | minion | s |', '| --- | --- | ---: |', ...lines].join('\n')}\n`,
    );
  });

  const all = (): string[] => [...real.keys(), ...peers.keys()].sort();

  function gone(id: string): void {
    real.delete(id);
    peers.get(id)?.close();
    peers.delete(id);
  }

  /** Does something to minions, and waits until they are told lost: not early, and not late. */
  async function lost(
    cause: string,
    of: string | readonly string[],
    boundS: number,
    act: () => unknown,
  ) {
    const ids = typeof of === 'string' ? [of] : of;
    const sinceMs = performance.now();
    await act();
    const name = `${ids[0] ?? ''}${ids.length > 1 ? ` and ${ids.length - 1} others` : ''}`;
    const lastMs = (): number | undefined => {
      const times = ids.map((id) => log.lostAt(id, sinceMs));
      return times.every((at) => at !== undefined) ? Math.max(...times) : undefined;
    };
    const atMs = await until(`${name}: lost (${cause})`, lastMs, {
      withinMs: (boundS + SLACK_S) * 1_000,
    });
    const seconds = (atMs - sinceMs) / 1_000;
    rows.push({ cause, id: name, seconds });
    expect(seconds, `${cause}: ${name} is not lost before its grace`).toBeGreaterThan(GRACE_S - 2);
    for (const id of ids) gone(id);
  }

  const allListed = (): Promise<unknown> =>
    until('all are listed', () => expect(log.listed).toEqual(all()), { withinMs: 120_000 });

  it('minions with an address of their own are present', async () => {
    await allListed();
    expect(log.changes.flatMap((change) => change.lost)).toEqual([]);
    // From here on no publisher began a moment ago.
    const sinceMs = performance.now() - beganMs;
    await growsOld('the start of the publisher', Math.max(0, HERD_S * 1_000 - sinceMs));
  }, 300_000);

  it('one with its own address is lost a grace after its connection ended, whatever ended it', async () => {
    const cutS = GRACE_S + HEARTBEAT_S + LOOP_S;
    await Promise.all([
      lost('kill -9', 'real-0', GRACE_S + LOOP_S, () => real.get('real-0')?.kill()),
      lost('connection closed', 'own-0', GRACE_S + LOOP_S, () => peers.get('own-0')?.close()),
      lost('network cut, no FIN', 'real-1', cutS, () => networkBy.get('real-1')?.cut()),
      lost('network cut, no FIN', 'own-1', cutS, () => networkBy.get('own-1')?.cut()),
      lost('dropped one way', 'real-2', cutS, () => networkBy.get('real-2')?.dropFromMinions()),
      lost('dropped one way', 'own-2', cutS, () => networkBy.get('own-2')?.dropFromMinions()),
    ]);
  }, 600_000);

  it('a deleted key is lost at once', async () => {
    const sinceMs = performance.now();
    expect((await master.brine('key', ['-d', 'own-3', '-y'])).code).toBe(0);
    const atMs = await until('it is lost', () => log.lostAt('own-3', sinceMs), {
      withinMs: 30_000,
    });
    rows.push({ cause: 'key deleted', id: 'own-3', seconds: (atMs - sinceMs) / 1_000 });
    gone('own-3');
  });

  it('several minions of an address are present', async () => {
    for (let net = 0; net < SHARED_NETWORKS; net += 1) {
      const by = await network();
      for (let at = 0; at < EACH; at += 1) await join(`nat${net}-${at}`, by);
      if (net > 0) continue;
      for (let at = 0; at < REAL_SHARED; at += 1) await startReal(`real-nat-${at}`, by);
    }
    await allListed();
    expect(log.lostSince(0).filter((id) => all().includes(id))).toEqual([]);
  }, 600_000);

  it('where others may hide it, one is lost once the others have answered', async () => {
    const cutS = SHARED_S + HEARTBEAT_S;
    const ids = Array.from({ length: EACH }, (_, at) => `nat2-${at}`);
    await Promise.all([
      lost('kill -9, one of several', 'real-nat-0', SHARED_S, () => real.get('real-nat-0')?.kill()),
      lost('connection closed, one of several', 'nat1-0', SHARED_S, () =>
        peers.get('nat1-0')?.close(),
      ),
      lost('network cut, all of an address', ids, cutS, () => networkBy.get('nat2-0')?.cut()),
      lost('closed, and it may have moved', 'own-4', SHARED_S, () => peers.get('own-4')?.close()),
    ]);
  }, 900_000);

  // Four minutes: a herd may be on its way back, and then minions are asked.
  if (IS_LONG) {
    it('one that goes as its publisher dies is lost after the time of a herd', async () => {
      // It is missed after 10 s.
      const boundS = 10 + HERD_S + SHARED_S;
      await lost('closed as the publisher died', 'own-6', boundS, async () => {
        peers.get('own-6')?.close();
        await killService(master, 'publisher');
      });
    }, 600_000);
  }

  it(
    'none is lost while connections, publishers and owners come and go',
    async () => {
      const sinceMs = performance.now();
      const untilMs = sinceMs + CALM_MINUTES * 60_000;
      const acts: (() => Promise<void>)[] = [
        // A short cut is made good by TCP.
        async () => {
          const by = networkBy.get('own-5');
          by?.cut();
          await growsOld('a short cut', 15_000);
          by?.heal();
        },
        async () => killService(master, 'publisher'),
        async () => killService(master, 'runner-pool-1'),
        async () => {
          const busy = peers.get('nat0-3');
          if (busy !== undefined) busy.answers = false;
          await growsOld('a busy minion', 20_000);
          if (busy !== undefined) busy.answers = true;
        },
        async () => killService(master, 'runner-pool-2'),
        async () => {
          expect((await master.brine('restart', [], 300_000)).code).toBe(0);
        },
      ];
      for (let turn = 0; performance.now() < untilMs; turn += 1) {
        await acts[turn % acts.length]?.();
        await growsOld('the fault', IS_LONG ? 45_000 : 15_000);
        expect(log.lostSince(sinceMs), `after fault ${turn + 1}`).toEqual([]);
      }
      expect(log.lostSince(sinceMs)).toEqual([]);
      await allListed();
    },
    CALM_MINUTES * 60_000 + 900_000,
  );
});

/** Ends a service at once; the supervisor starts it again. */
async function killService(master: BrineMaster, name: string): Promise<void> {
  const pidOf = async (): Promise<number | undefined> =>
    (await master.services()).find((service) => service.name === name)?.pid;
  const pid = await pidOf();
  if (pid === undefined) throw new Error(`no ${name} runs`);
  process.kill(pid, 'SIGKILL');
  await until(
    `${name} is there again`,
    async () => {
      const next = await pidOf();
      return next !== undefined && next !== pid;
    },
    { withinMs: 60_000 },
  );
}

// Replicas of everything behind one TCP balancer that cuts idle connections: hosts with the same
// key on the same NATS and PostgreSQL, and real minions that know one address.
import { copyFile, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  BrineMaster,
  freePorts,
  saltVenv,
  type SaltVersion,
  startNats,
  startPostgres,
  type TestNats,
  type TestPostgres,
} from '@brine/testing';
import { type Balancer, startBalancer } from '@brine/testing/nodes';
import { loadPauses, until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** In production 60 s beside heartbeats of 10 s: the same proportion, sooner. */
const IDLE_MS = 6_000;
const HEARTBEAT_MS = 1_000;
const HOSTS = { a: '127.0.0.2', b: '127.0.0.3', c: '127.0.0.4' } as const;
const STOCK: readonly SaltVersion[] = ['3008.2', '3006.26', '3008.2', '3006.26'];
const IDS = STOCK.map((version, index) => `real-${index}-${version}`);
/** What real minions can follow on a slow machine. */
const PAUSE_MS = 1_500;
const COMMAND_MS = 180_000;
const MUTE_CONNECTIONS = 3;

type HostName = keyof typeof HOSTS;

interface Host {
  readonly master: BrineMaster;
  /** Connections to its publisher. */
  peers(): Promise<number>;
}

describe('two gateways and two publishers behind one balancer', () => {
  let nats: TestNats;
  let postgres: TestPostgres;
  let balancer: Balancer;
  let ranFile: string;
  const hosts = new Map<HostName, Host>();
  const master = (name: HostName): BrineMaster => {
    const host = hosts.get(name);
    if (host === undefined) throw new Error(`host ${name} does not run`);
    return host.master;
  };

  async function start(name: HostName): Promise<void> {
    const [publisher = 0] = await freePorts(1);
    const first = hosts.get('a');
    const started = await BrineMaster.start(
      {
        interface: HOSTS[name],
        publish_port: balancer.publishPort,
        ret_port: balancer.retPort,
        zmq_heartbeat_ivl: HEARTBEAT_MS,
        auto_accept: true,
        brine: { workers: 1, health_ports: { publisher } },
      },
      {
        env: {
          NATS_URL: nats.server.url,
          BRINE_NATS_CERTIFICATES: nats.certificates,
          DATABASE_URL: postgres.url,
          BRINE_HOST: name,
        },
        // The same key: minions know one master.
        onHome: async ({ pkiDir }) => {
          for (const file of first === undefined ? [] : ['master.pem', 'master.pub']) {
            await copyFile(join(master('a').home.pkiDir, file), join(pkiDir, file));
          }
        },
      },
    );
    const peers = async (): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${publisher}/status`);
      return ((await answer.json()) as { readonly peers: number }).peers;
    };
    hosts.set(name, { master: started, peers });
  }

  /** A command on a host, to all minions; each of them writes a line. */
  async function type(name: HostName, token: string): Promise<string | undefined> {
    const command = `echo ${token} >> ${ranFile}`;
    const args = ['*', 'cmd.run', command, '-t', '30', '--out', 'json', '--static'];
    const { code, stdout, stderr } = await master(name).brine('salt', args, COMMAND_MS);
    const answered = stdout.trim() === '' ? [] : Object.keys(JSON.parse(stdout) as object);
    if (code === 0 && answered.length === IDS.length) return undefined;
    return `${token}: exit ${code}: ${stderr}${stdout}`;
  }

  async function runs(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const token of (await readFile(ranFile, 'utf8')).trim().split('\n')) {
      counts.set(token, (counts.get(token) ?? 0) + 1);
    }
    return counts;
  }

  beforeAll(async () => {
    const venvs = await Promise.all(STOCK.map((version) => saltVenv(version)));
    nats = await startNats({ certificates: true, streams: false });
    postgres = await startPostgres();
    balancer = await startBalancer({ hosts: Object.values(HOSTS), idleMs: IDLE_MS });
    await start('a');
    await start('b');
    const { sandbox, home } = master('a');
    ranFile = join(home.configDir, 'ran');
    for (const [index, id] of IDS.entries()) {
      const venv = venvs[index];
      if (venv === undefined) throw new Error(`no Salt for ${id}`);
      const config = { recon_default: 500, recon_max: 3_000 };
      sandbox.startMinion(venv, await sandbox.minion(id, balancer.retPort, config));
    }
    await master('a').acceptKeys(IDS, 180_000);
    await master('a').waitForMinions(IDS, 240_000);
  }, 600_000);

  afterAll(async () => {
    for (const name of ['c', 'b', 'a'] as const) await hosts.get(name)?.master.close();
    await balancer?.close();
    await postgres?.stop();
    await nats?.close();
  });

  it('each minion gets each publication once, whichever publisher and host it is of', async () => {
    const peers = await Promise.all([...hosts.values()].map((host) => host.peers()));
    expect(peers.every((count) => count > 0)).toBe(true);
    const tokens = ['one', 'two', 'three', 'four'];
    for (const [index, token] of tokens.entries()) {
      expect(await type(index % 2 === 0 ? 'a' : 'b', token)).toBeUndefined();
    }
    expect(await runs()).toEqual(new Map(tokens.map((token) => [token, IDS.length])));
  }, 300_000);

  it('idle minions stay connected through heartbeats; who says nothing is cut', async () => {
    const before = await balancer.cut();
    // One after the other, so that all others were idle for as long as each of them.
    for (let n = 0; n < MUTE_CONNECTIONS; n += 1) {
      const mute = connect({ host: '127.0.0.1', port: balancer.publishPort });
      mute.on('error', () => undefined).resume();
      await new Promise((resolve) => mute.once('close', resolve));
    }
    const ended = async (): Promise<number> => (await balancer.cut()).ended - before.ended;
    // A connection is closed a moment before its line is in the log.
    await until('the balancer logs the end of the mute ones', async () => {
      return (await ended()) >= MUTE_CONNECTIONS;
    });
    expect(await type('b', 'after-idle')).toBeUndefined();
    expect((await runs()).get('after-idle')).toBe(IDS.length);
    // Those, and no other.
    expect(await ended()).toBe(MUTE_CONNECTIONS);
  }, 300_000);

  it('adding and removing hosts under load loses nothing', async () => {
    const tokens: string[] = [];
    const answers = new Map<string, string | undefined>();
    let running = true;
    const typing = (async () => {
      const open = new Set<Promise<void>>();
      for (let number = 0; running; number += 1) {
        const token = `load-${number}`;
        tokens.push(token);
        const one = type('a', token)
          .then((said) => void answers.set(token, said))
          .finally(() => open.delete(one));
        open.add(one);
        if (open.size >= 4) await Promise.race(open);
        await loadPauses(PAUSE_MS);
      }
      await Promise.all(open);
    })();
    /** Waits until two commands that were typed from now on are answered. */
    const answered = async (what: string): Promise<void> => {
      const before = tokens.length;
      const since = (): number => tokens.slice(before).filter((one) => answers.has(one)).length;
      const both = `two commands are answered ${what}`;
      await until(both, () => since() >= 2, { withinMs: COMMAND_MS });
    };
    await answered('before anything changes');
    await start('c');
    await answered('beside a third host');
    await master('b').stop();
    await answered('without the second host');
    // Those of the publisher that went are with the one that came.
    await until("the third host's publisher has connections", async () =>
      expect(await hosts.get('c')?.peers()).toBeGreaterThan(0),
    );
    running = false;
    await typing;
    expect([...answers.values()].filter((said) => said !== undefined)).toEqual([]);
    expect(tokens.length).toBeGreaterThan(5);
    const counts = await runs();
    expect(tokens.filter((token) => counts.get(token) !== IDS.length)).toEqual([]);
    // What the store that went had in hand comes again after its half minute.
    const left = (): Promise<object[]> => unreturned(postgres.url);
    await expect.poll(left, { timeout: 90_000, interval: 500 }).toEqual([]);
  }, 600_000);
});

/** What the ledger says of minions whose return is not there. */
async function unreturned(url: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const text = `SELECT l.jid, l.id, l.state FROM brine.ledger l JOIN brine.jobs j USING (jid)
      WHERE 'cmd.run' = ANY (j.fun) AND l.state <> 'returned'`;
    return (await client.query<object>(text)).rows;
  } finally {
    await client.end();
  }
}

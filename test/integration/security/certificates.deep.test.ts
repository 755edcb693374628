import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { grantRoles } from '@brine/job-cache';
import {
  BrineMaster,
  natsCertificates,
  startNats,
  startPostgres,
  type TestNats,
  type TestPostgres,
} from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';

/*
 * A master whose NATS is reached by mutual TLS, under a stream of jobs: certificates are renewed,
 * and the authority is replaced by another, without a restart and without a lost job. Its store
 * owns no table of PostgreSQL.
 */

const MINIONS = ['one', 'two'];

/** Between services and NATS, so that all connections can be made again at once. */
class Way {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(port: number): Promise<Way> {
    const way = new Way(createServer({ allowHalfOpen: false }));
    way.#server.on('connection', (near: Socket) => {
      const far = connect(port, '127.0.0.1');
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        way.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          way.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
    await new Promise<void>((resolve) => way.#server.listen(0, '127.0.0.1', resolve));
    return way;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let nats: TestNats;
let postgres: TestPostgres;
let way: Way;
let master: BrineMaster;
beforeAll(async () => {
  nats = await startNats({ certificates: true, streams: false });
  way = await Way.to(nats.server.port);
  const { certificates } = nats;
  postgres = await startPostgres();
  await grantRoles(postgres.url);
  const owner = new pg.Client({ connectionString: postgres.superuserUrl });
  await owner.connect();
  await owner.query("CREATE ROLE store LOGIN PASSWORD 'of-a-test' IN ROLE brine_store");
  await owner.end();
  const database = Object.assign(new URL(postgres.url), {
    username: 'store',
    password: 'of-a-test',
  });
  const url = `tls://127.0.0.1:${way.port}`;
  master = await BrineMaster.start({
    auto_accept: true,
    brine: { workers: 2, nats: { url, certificates }, postgres: { url: database.href } },
  });
  for (const id of MINIONS) await master.startMinion(id);
  await master.acceptKeys(MINIONS);
  await master.waitForMinions(MINIONS);
}, 600_000);
afterAll(async () => {
  await master?.close();
  await way?.close();
  await postgres?.stop();
  await nats?.close();
});

const MINUTES = 600_000;

test(
  'renewal and another authority, under a stream of jobs: none is lost',
  { timeout: MINUTES },
  async () => {
    const certificates = natsCertificates(nats.certificates);
    const authority = (): string =>
      new X509Certificate(readFileSync(join(nats.certificates, 'nats', 'tls.crt'))).issuer;
    const before = await pids();
    const first = authority();
    let isOver = false;
    const outcomes: unknown[] = [];
    const jobs = (async () => {
      for (let n = 0; !isOver; n += 1) {
        const args = ['-L', MINIONS.join(','), 'test.echo', `${n}`, '--static', '--out', 'json'];
        const { code, stdout, stderr } = await master.brine('salt', [...args, '-t', '60']);
        // On a busy machine all workers may be between two connections: then it says so. A job
        // that was published all the same is one too many in the list below.
        if (/no worker answers|the job was not published/.test(stderr)) n -= 1;
        else if (code === 0) outcomes.push(JSON.parse(stdout));
        else outcomes.push({ n, code, stdout, stderr, why: await why(n) });
      }
    })();
    /** Once all have read the files again, and a job has gone through all of them. */
    const taken = async (): Promise<void> => {
      const told = reloads();
      nats.server.reload();
      await expect.poll(reloads, { timeout: 60_000 }).toBeGreaterThan(told);
      way.cut();
      const jobsThen = outcomes.length;
      await expect.poll(() => outcomes.length, { timeout: 120_000 }).toBeGreaterThan(jobsThen + 2);
    };
    await certificates.renew(90);
    await taken();
    expect(authority()).toBe(first);
    for (const step of ['trusted', 'signing', 'done']) {
      expect(await certificates.changeAuthority(90)).toBe(step);
      await taken();
    }
    expect(authority()).not.toBe(first);
    isOver = true;
    await jobs;
    expect(outcomes.length).toBeGreaterThan(10);
    const expected = outcomes.map((_, n) => Object.fromEntries(MINIONS.map((id) => [id, n])));
    expect(outcomes).toEqual(expected);
    const { stdout } = await master.brine('run', ['jobs.list_jobs', '--out', 'json']);
    const listed = Object.values(JSON.parse(stdout) as Record<string, { Function: string }>);
    const echoes = listed.filter((job) => job.Function === 'test.echo');
    expect(echoes).toHaveLength(outcomes.length);
    expect(await pids()).toEqual(before);
    // All speak with the new authority alone: a certificate of the old one gets nowhere.
    expect((await master.brine('doctor', [])).stdout).toContain('10 certificates are good');
  },
);

/** What the master knows of the job that had this argument. */
async function why(n: number): Promise<string> {
  const { stdout } = await master.brine('run', ['jobs.list_jobs', '--out', 'json']);
  const jobs = Object.entries(JSON.parse(stdout) as Record<string, { Arguments: unknown[] }>);
  const [jid] = jobs.find(([, job]) => job.Arguments[0] === n) ?? [];
  if (jid === undefined) return 'no such job';
  return (await master.brine('run', ['jobs.lookup_jid', jid, '--out', 'json'])).stdout;
}

/** How often the server has read its files again. */
function reloads(): number {
  const log = readFileSync(nats.server.logFile, 'utf8');
  return log.split('Reloaded server configuration').length - 1;
}

async function pids(): Promise<unknown> {
  return (await master.services()).map(({ name, pid }) => [name, pid]);
}

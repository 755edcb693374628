import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bus } from '@brine/bus';
import { BrineMaster, connectToOwn, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import type { Browser, Page } from 'playwright-core';
import { FaultProxy } from '../../../tools/chaos/src/fault-proxy.ts';
import { firstOf, type HttpReplica, startReplica } from '../security/http-replica.ts';

const PASSWORD = 'shared';
const CONNECT_MS = 10_000;
const PATIENCE_MS = 60_000;
const SERVES = { withinMs: PATIENCE_MS };

/** A master with two http-api processes, a way from browsers to both in turns, and a rig's bus. */
export class TwoHttpApis {
  readonly master: BrineMaster;
  /** All that browsers send passes here; the processes take turns. */
  readonly network: FaultProxy;
  /** As a worker, which writes events. */
  readonly bus: Bus;
  /** Of a user who may see all. */
  token = '';
  readonly #first: string;
  #replica: HttpReplica;

  private constructor(
    parts: Pick<TwoHttpApis, 'master' | 'network' | 'bus'>,
    first: string,
    replica: HttpReplica,
  ) {
    this.master = parts.master;
    this.network = parts.network;
    this.bus = parts.bus;
    this.#first = first;
    this.#replica = replica;
  }

  /** Starts all; `brine` has further options of the master. */
  static async start(brine: Readonly<Record<string, number>> = {}): Promise<TwoHttpApis> {
    const [port = 0] = await freePorts(1);
    const master = await BrineMaster.start({
      sharedsecret: PASSWORD,
      external_auth: { sharedsecret: { all: ['.*', '@runner', '@wheel', '@jobs', '@events'] } },
      brine: { ...brine, http: { port } },
    });
    const first = firstOf(port);
    let turn = 0;
    const bases = (): readonly string[] => two.bases();
    const network = await FaultProxy.listen(async () => {
      const all = bases();
      const { hostname, port: to } = new URL(all[(turn += 1) % all.length] ?? first);
      return { host: hostname, port: Number(to) };
    });
    const bus = await connectToOwn(stateDir(master), CONNECT_MS, 'worker-pool');
    const replica = await startReplica(master);
    const two = new TwoHttpApis({ master, network, bus }, first, replica);
    two.token = await logIn(first);
    return two;
  }

  /** Where both serve. */
  bases(): readonly string[] {
    return [this.#first, this.#replica.base];
  }

  /** A page of the console, logged in by a code, behind the network. */
  async openConsole(browser: Browser): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const { stdout } = await this.master.brine('console', []);
    const address = new URL(stdout.trim());
    address.port = String(this.network.port);
    await page.goto(address.href);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return page;
  }

  /** Kills the first process; resolves when its supervisor has started another. */
  async killFirst(): Promise<void> {
    const killed = await this.#pidOfFirst();
    process.kill(killed, 'SIGKILL');
    await until('http-api is another process', async () => (await this.#pidOfFirst()) !== killed);
    await until('http-api serves again', async () => serves(this.#first), SERVES);
  }

  /** Kills the other process, and starts one at another address. */
  async killReplica(): Promise<void> {
    this.#replica = await this.#replica.killAndStart();
  }

  /** Kills NATS; resolves when its supervisor has started another. */
  async killNats(): Promise<void> {
    const pidOf = async () =>
      Number(await readFile(join(stateDir(this.master), 'nats', 'nats.pid'), 'utf8'));
    const killed = await pidOf();
    process.kill(killed, 'SIGKILL');
    await until('NATS is another process', async () => (await pidOf()) !== killed, SERVES);
  }

  async close(): Promise<void> {
    await this.bus.close();
    await this.network.close();
    await this.#replica.close();
    await this.master.close();
  }

  async #pidOfFirst(): Promise<number> {
    const services = await this.master.services();
    const pid = services.find(({ name }) => name.startsWith('http-api'))?.pid;
    if (pid === undefined) throw new Error('the master has no http-api');
    return pid;
  }
}

function stateDir({ home }: BrineMaster): string {
  return join(home.cacheDir, 'brine');
}

async function serves(base: string): Promise<boolean> {
  return (await fetch(`${base}/console/`).catch(() => undefined))?.status === 200;
}

async function logIn(base: string): Promise<string> {
  const answer = await fetch(`${base}/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: 'all', password: PASSWORD, eauth: 'sharedsecret' }),
  });
  const token = answer.headers.get('x-auth-token');
  if (token === null) throw new Error(`no log-in: ${answer.status} ${await answer.text()}`);
  return token;
}

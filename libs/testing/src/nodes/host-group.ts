import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster } from '../brine/brine-master.ts';
import { startNats, type TestNats } from '../nats.ts';
import type { SaltConfig } from '../salt/index.ts';
import { startPostgres, type TestPostgres } from '../test-postgres.ts';

/** Hosts of one Brine: they share NATS, PostgreSQL and the master's key. */
export class HostGroup implements AsyncDisposable {
  readonly nats: TestNats;
  readonly postgres: TestPostgres;
  readonly #hosts: BrineMaster[] = [];

  private constructor(nats: TestNats, postgres: TestPostgres) {
    this.nats = nats;
    this.postgres = postgres;
  }

  /** Starts NATS and PostgreSQL, without a host. */
  static async start(): Promise<HostGroup> {
    const nats = await startNats({ certificates: true, streams: false });
    try {
      return new HostGroup(nats, await startPostgres());
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  /** The hosts, the first one first. */
  get hosts(): readonly BrineMaster[] {
    return this.#hosts;
  }

  /** Starts a host; each name is for one host. `config` goes into its file. */
  async add(name: string, config: SaltConfig, logLevel = 'warning'): Promise<BrineMaster> {
    const [first] = this.#hosts;
    const host = await BrineMaster.start(config, {
      env: {
        NATS_URL: this.nats.server.url,
        BRINE_NATS_CERTIFICATES: this.nats.certificates,
        DATABASE_URL: this.postgres.url,
        BRINE_HOST: name,
      },
      logLevel,
      // The same key: minions know one master.
      onHome: async ({ pkiDir }) => {
        if (first === undefined) return;
        for (const file of ['master.pem', 'master.pub']) {
          await copyFile(join(first.home.pkiDir, file), join(pkiDir, file));
        }
      },
    });
    this.#hosts.push(host);
    return host;
  }

  /** Ends the hosts, the last first, then PostgreSQL and NATS. */
  async close(): Promise<void> {
    for (const host of this.#hosts.splice(0).reverse()) await host.close();
    await this.postgres.stop();
    await this.nats.close();
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Crypticle, PrivateKey } from '@brine/crypt';
import { EventClient } from '@brine/ipc';
import { BrineMaster, type SaltConfig, type SaltHome } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { mapOf, type SaltValue } from '@brine/wire';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { clear, sealed, type Sent } from '../../../tools/request-table/frames.ts';
import { outcomeOf } from '../../../tools/request-table/outcome.ts';

/** A file that is served to all, with its name as its content. */
export const SERVED = 'served.txt';
/** Who may run `test.*`. */
const LOGIN = { eauth: 'file', username: 'anne', password: 'secret of anne' } as const;
/** Users of the same file, each with rights of its own kind. */
const RIGHTS = {
  anne: ['test.*'],
  rick: ['@runner'],
  wanda: ['@wheel'],
  olga: [{ a: ['test.*'] }, { '@runner': ['state.orchestrate', 'queue', 'manage.up'] }],
};

/** A whole master, two minions that say whatever a test wants, and an ear on its event bus. */
export class AttackedMaster {
  readonly master: BrineMaster;
  readonly a: TestPeer;
  readonly b: TestPeer;
  /** Tags of all events since the start. */
  readonly heard: string[] = [];
  readonly #events: EventClient;
  readonly #accounts: string;

  private constructor(
    master: BrineMaster,
    peers: readonly [TestPeer, TestPeer],
    bus: EventClient,
    accounts: string,
  ) {
    this.master = master;
    this.#accounts = accounts;
    [this.a, this.b] = peers;
    this.#events = bus;
    void (async () => {
      for await (const { tag } of bus) this.heard.push(tag);
    })();
  }

  /**
   * @param config added to the master's, over its own
   * @param onHome called when its directories are made, before it starts
   */
  static async start(
    config: SaltConfig = {},
    onHome: (home: SaltHome) => void = () => undefined,
  ): Promise<AttackedMaster> {
    const [one, other] = [await PrivateKey.generate(2048), await PrivateKey.generate(2048)];
    const accounts = await mkdtemp(join(tmpdir(), 'brine-accounts-'));
    const users = join(accounts, 'users');
    const names = Object.keys(RIGHTS);
    writeFileSync(users, names.map((name) => `${name}:secret of ${name}\n`).join(''));
    const master = await BrineMaster.start(
      {
        request_server_ttl: 120,
        // What is off can not be attacked.
        file_recv: true,
        order_masters: true,
        external_auth: { file: { '^filename': users, ...RIGHTS } },
        token_expire_user_override: true,
        brine: { workers: 2 },
        ...config,
      },
      {
        onHome: (home) => {
          const { configDir, pkiDir } = home;
          onHome(home);
          writeFileSync(join(configDir, 'files', SERVED), SERVED);
          const dir = join(pkiDir, 'minions');
          mkdirSync(dir, { recursive: true, mode: 0o700 });
          writeFileSync(join(dir, 'a'), one.publicKey.pem);
          writeFileSync(join(dir, 'b'), other.publicKey.pem);
        },
      },
    );
    const { retPort, sockDir } = master.home;
    const [a, b] = [new TestPeer('a', one, retPort), new TestPeer('b', other, retPort)];
    await a.signIn();
    await b.signIn();
    const bus = await EventClient.connect({ path: join(sockDir, 'master_event_pub.ipc') });
    return new AttackedMaster(master, [a, b], bus, accounts);
  }

  /** The key of the local user root. */
  get rootKey(): string {
    return readFileSync(join(this.master.home.cacheDir, '.root_key'), 'utf8').trim();
  }

  /** How minion a seals, when it does what it should. */
  get own(): { sealedWith: Crypticle; version: number; outerId: string } {
    return { sealedWith: this.a.session, version: 3, outerId: 'a' };
  }

  /** What comes of a frame. */
  async send(sent: Sent): Promise<string> {
    return outcomeOf(await this.a.raw(sent.body), sent);
  }

  clear(load: Record<string, SaltValue>, version = 3): Promise<string> {
    return this.send(clear(mapOf(load), version));
  }

  /** A publish to minion a. */
  publish(credentials: Record<string, SaltValue>): Promise<string> {
    const job = { fun: 'test.ping', tgt: 'a', arg: [], ret: '', jid: '' };
    return this.clear({ cmd: 'publish', ...job, ...credentials });
  }

  /** A token for {@link LOGIN}. */
  async token(more: Record<string, SaltValue> = {}): Promise<string> {
    const made = await this.clear({ cmd: 'mk_token', ...LOGIN, ...more });
    const token = /"token":"([0-9a-f]{64})"/.exec(made)?.[1];
    if (token === undefined) throw new Error(made);
    return token;
  }

  /** A request of minion a, with these fields. */
  sealed(cmd: string, fields: Record<string, SaltValue> = {}): Promise<string> {
    return this.send(sealed(sealedLoad(this.a, cmd, fields), this.own));
  }

  /** Waits until an event that is sent now is heard: those before it would have been heard too. */
  async marker(name: string): Promise<void> {
    const until = Date.now() + 30_000;
    for (let n = 0; !this.heard.includes(`my/${name}`); n += 1) {
      if (Date.now() > until) throw new Error(`no event ${name} was heard`);
      const fields = { tag: `my/${name}`, data: mapOf({ n }) };
      if (n % 50 === 0) await this.sealed('_minion_event', fields);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Names of files that an attack wanted to make; there must be none. */
  escaped(word = 'escaped'): string[] {
    const { configDir, cacheDir } = this.master.home;
    return [configDir, cacheDir]
      .flatMap((dir) => readdirSync(dir, { recursive: true, encoding: 'utf8' }))
      .filter((file) => file.includes(word));
  }

  async close(): Promise<void> {
    this.#events.close();
    this.a.close();
    this.b.close();
    await this.master.close();
    await rm(this.#accounts, { recursive: true });
  }
}

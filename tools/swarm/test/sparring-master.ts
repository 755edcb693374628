import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Crypticle, newKeyString, PrivateKey } from '@brine/crypt';
import type { Job } from '@brine/job';
import { Answerer, type EventToAppend } from '@brine/master';
import { type MemoryMaster, memoryMaster } from '@brine/testing';
import { appendField, isMap, pack, textOf, unpack } from '@brine/wire';
import { publicationEnvelope } from '@brine/wire/frames';
import { buildPublishedJob } from '@brine/wire/load';
import { PublishServer, RequestServer } from '@brine/zmq';

const SIG = 'PKCS1v15-SHA1';
const USER_KEY = newKeyString();

/** Changes an answer: other bytes, or none. */
export type Tamper = (body: Uint8Array, answer: Uint8Array) => Uint8Array | 'silence';

/** The rules of Brine's master on real sockets, everything else in memory. */
export class SparringMaster {
  readonly memory: MemoryMaster;
  readonly retPort: number;
  readonly publishPort: number;
  readonly cachedir: string;
  tamper: Tamper = (_body, answer) => answer;
  /** If set, called with each event, which is then not kept. */
  onEvent: ((event: EventToAppend) => void) | undefined;
  readonly #requests: RequestServer;
  readonly #publisher: PublishServer;
  readonly #key: PrivateKey;
  readonly #aes: Crypticle;
  #serial = 0;
  #closed = false;

  private constructor(parts: {
    readonly key: PrivateKey;
    readonly cachedir: string;
    readonly requests: RequestServer;
    readonly publisher: PublishServer;
  }) {
    this.#key = parts.key;
    this.cachedir = parts.cachedir;
    this.#requests = parts.requests;
    this.#publisher = parts.publisher;
    this.retPort = portOf(parts.requests.endpoint);
    this.publishPort = portOf(parts.publisher.endpoint);
    const aesKeyString = newKeyString();
    this.#aes = new Crypticle(aesKeyString);
    this.memory = memoryMaster({
      masterKey: parts.key,
      aesKeyString,
      rules: { minimumAuthVersion: 0, publishPort: this.publishPort },
      userKeys: { root: USER_KEY },
      autosign: 'accept',
    });
  }

  /** Starts one; with `before` it has the same ports, key and minions, as after a restart. */
  static async start(before?: SparringMaster): Promise<SparringMaster> {
    const cachedir = await mkdtemp(join(tmpdir(), 'brine-spar-'));
    await writeFile(join(cachedir, '.root_key'), USER_KEY);
    const at = (port: number | undefined): string => `tcp://127.0.0.1:${port ?? '*'}`;
    const maxMessageBytes = 10_000_000;
    const requests = await RequestServer.bind({ endpoint: at(before?.retPort), maxMessageBytes });
    const publisher = await PublishServer.bind({ endpoint: at(before?.publishPort) });
    const key = before === undefined ? await PrivateKey.generate(2048) : before.#key;
    const master = new SparringMaster({ key, cachedir, requests, publisher });
    for (const [id, known] of before?.memory.minionKeys ?? []) master.memory.setKey(id, known);
    void master.#serve();
    return master;
  }

  /** The accepted returns, by job id. */
  returns(jid: string): string[] {
    return this.memory.events.flatMap(({ tag }) => {
      const id = tag.startsWith(`salt/job/${jid}/ret/`) ? tag.split('/')[4] : undefined;
      return id === undefined ? [] : [id];
    });
  }

  /** Sends a job to these minions, even if they got it before. */
  sendTo(jid: string, minions: readonly string[]): Promise<void> {
    const job = { fun: 'test.ping', arg: [], tgt: [...minions], tgtType: 'list', jid };
    const loads = buildPublishedJob({ ...job, ret: '', user: 'root', rest: new Map() });
    return this.#publish({ publication: pack(loads) });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#requests.close();
    await this.#publisher.close();
    await rm(this.cachedir, { recursive: true, force: true });
  }

  async #serve(): Promise<void> {
    const { ports } = this.memory;
    const answerer = new Answerer(
      {
        ...ports,
        events: {
          append: (event) => {
            if (this.onEvent === undefined) return ports.events.append(event);
            this.onEvent(event);
            return Promise.resolve({ duplicate: false });
          },
        },
        publications: {
          ...ports.publications,
          publish: async (job) => {
            const published = await ports.publications.publish(job);
            await this.#publish(job);
            return published;
          },
        },
      },
      (fault) => {
        throw fault;
      },
    );
    let count = 0;
    for await (const { peer, body } of this.#requests) {
      count += 1;
      const answer = await answerer.answer({ id: String(count), body, gatewayHost: 'here' });
      if (answer.kind === 'drop') continue;
      const bytes = this.tamper(body, answer.body);
      // A herd may still be answering when the test ends.
      if (this.#closed) return;
      if (bytes !== 'silence') this.#requests.reply(peer, bytes);
    }
  }

  async #publish(job: Pick<Job, 'publication'>): Promise<void> {
    this.#serial += 1;
    const load = this.#aes.seal(appendField(job.publication, 'serial', this.#serial));
    const sig = this.#key.sign(load, SIG);
    if (this.#closed) return;
    await this.#publisher.send([publicationEnvelope({ load, sig, sigAlgo: SIG })]);
  }
}

/** True for a clear request of this command; in sealed ones it is not visible. */
export function isClear(body: Uint8Array, cmd: string): boolean {
  const value = unpack(body);
  const load = isMap(value) ? value.get('load') : undefined;
  return isMap(load) && textOf(load, 'cmd') === cmd;
}

function portOf(endpoint: string): number {
  return Number(endpoint.split(':').at(-1));
}

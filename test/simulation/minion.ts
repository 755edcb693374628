import type { PrivateKey } from '@brine/crypt';
import { CryptError, minionToken, SerialMemory } from '@brine/crypt';
import { matchMinion } from '@brine/target';
import type { SaltMap } from '@brine/wire';
import { pack } from '@brine/wire';
import { mapOf, unpack, unpackMap } from '@brine/wire';
import { aesEnvelope, readPublication } from '@brine/wire/frames';
import type { PublishedJob } from '@brine/wire/load';
import { buildReturn, parsePublishedJob } from '@brine/wire/load';
import type { Credentials } from '../../libs/minion/src/channel/sign-in.ts';
import { beginSignIn, finishSignIn } from '../../libs/minion/src/channel/sign-in.ts';
import type { PublishPort, Subscription } from './world/publish-port.ts';
import type { Random } from './world/random.ts';
import type { RequestPort } from './world/request-port.ts';
import { contentOf } from './world/store-rules.ts';
import type { Trace } from './world/trace.ts';
import type { VirtualTime } from './world/virtual-time.ts';

/** Where a minion lives. */
export interface MinionSurroundings {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly key: PrivateKey;
  readonly publish: PublishPort;
  readonly request: RequestPort;
  readonly on: MinionEvents;
}

/** What a minion tells the checks. */
export interface MinionEvents {
  readonly ran: (id: string, jid: string) => void;
  readonly acknowledged: (id: string, jid: string, content: string) => void;
  readonly learnt: (credentials: Credentials) => void;
}

// Salt: minion_jid_queue_hwm, return_retry_timer(_max), return_retry_tries, auth_timeout and
// auth_tries.
const REMEMBERED_JIDS = 100;
const RETURN_MS = { least: 5_000, most: 10_000 };
const TRIES = 3;
const AUTH_TIMEOUT_MS = 5_000;
const AUTH_TRIES = 7;
const VERSION = 3;

const ALGORITHMS = { encAlgo: 'OAEP-SHA1', sigAlgo: 'PKCS1v15-SHA1' } as const;

/** A stock minion as it was measured: one process, from its start to its end. */
export class SimMinion {
  readonly id: string;
  readonly #around: MinionSurroundings;
  readonly #reconnectMs: number;
  readonly #identity;
  readonly #tok: Buffer;
  readonly #peer: number;
  readonly #jids = new Set<string>();
  readonly #running = new Map<string, PublishedJob>();
  #delivering = 0;
  #credentials: Credentials | undefined;
  #masterPub: string | undefined;
  #signing: Promise<boolean> | undefined;
  #serials: { readonly keyString: string; readonly memory: SerialMemory } | undefined;
  #subscription: Subscription | undefined;
  #frames: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(id: string, around: MinionSurroundings) {
    this.id = id;
    this.#around = around;
    const { random, key, request } = around;
    // Drawn once for each process: recon_default plus up to recon_max.
    this.#reconnectMs = random.between(1_000, 11_000);
    this.#identity = { id, key, ...ALGORITHMS, masterFinger: '', hashType: 'sha256' };
    this.#tok = minionToken(key);
    this.#peer = request.newPeer();
  }

  /** It runs nothing, and every return of its has come to its end. */
  get isIdle(): boolean {
    return this.#isOver || (this.#running.size === 0 && this.#delivering === 0);
  }

  /** Signs in and subscribes, for as long as it takes. */
  async start(): Promise<void> {
    while (!this.#isOver && !(await this.#signIn())) await this.#around.time.sleep(10_000);
    if (!this.#isOver) this.#subscribe();
  }

  /** The process is killed: what it knew is gone. */
  kill(): void {
    this.#isOver = true;
    this.#subscription?.drop();
  }

  /** Its network to 4505 breaks. */
  cut(): void {
    this.#subscription?.drop();
  }

  #subscribe(): void {
    if (this.#isOver) return;
    this.#subscription = this.#around.publish.subscribe(
      (frame) => {
        // One after the other: opening one may take a log-in.
        this.#frames = this.#frames.then(() => this.#take(frame));
      },
      () => {
        this.#subscription = undefined;
        this.#around.time.after(this.#reconnectMs, () => this.#subscribe());
      },
    );
    if (this.#subscription === undefined) {
      this.#around.time.after(this.#reconnectMs, () => this.#subscribe());
    } else this.#around.trace.note(this.id, 'subscribed');
  }

  async #take(frame: Buffer): Promise<void> {
    const opened = await this.#open(frame);
    if (opened === undefined || this.#isOver) return;
    const job = parsePublishedJob(unpackMap(opened));
    const { tgt, tgtType, jid } = job;
    if (!this.#isNewSerial(job)) return;
    const facts = { id: this.id, grains: new Map(), pillar: new Map() };
    if (!matchMinion({ tgt, tgtType }, facts) || this.#jids.has(jid)) return;
    this.#jids.add(jid);
    for (const oldest of this.#jids) {
      if (this.#jids.size <= REMEMBERED_JIDS) break;
      this.#jids.delete(oldest);
    }
    void this.#run(job);
  }

  /** A frame of another key makes it sign in once. */
  async #open(frame: Buffer): Promise<Buffer | undefined> {
    const { load } = readPublication(frame);
    for (let tries = 0; tries < 2; tries += 1) {
      try {
        return this.#credentials?.aes.open(load);
      } catch (error) {
        if (!(error instanceof CryptError)) throw error;
        if (tries === 1 || !(await this.#signIn())) return undefined;
      }
    }
    return undefined;
  }

  #isNewSerial(job: PublishedJob): boolean {
    const keyString = this.#credentials?.aes.keyString ?? '';
    if (this.#serials?.keyString !== keyString) {
      this.#serials = { keyString, memory: new SerialMemory() };
    }
    return job.serial === undefined || this.#serials.memory.accept(job.serial);
  }

  async #run(job: PublishedJob): Promise<void> {
    const { time, random, trace, on } = this.#around;
    const fun = String(job.fun);
    const isFind = fun === 'saltutil.find_job';
    if (!isFind) {
      trace.note(this.id, `runs ${job.jid} ${fun}`);
      on.ran(this.id, job.jid);
    }
    this.#running.set(job.jid, job);
    const asked = job.arg[0];
    const takesMs = fun === 'test.sleep' ? Number(asked) * 1000 : random.between(5, 60);
    const result = typeof asked === 'string' && isFind ? this.#found(asked) : true;
    await time.sleep(takesMs);
    this.#running.delete(job.jid);
    if (this.#isOver) return;
    const failed = fun === 'test.false';
    const load = buildReturn({
      id: this.id,
      jid: job.jid,
      fun: job.fun,
      funArgs: job.arg,
      return: failed ? false : result,
      retcode: failed ? 1 : 0,
      success: !failed,
      rest: new Map(),
    });
    this.#delivering += 1;
    await this.#deliver(load, job.jid);
    this.#delivering -= 1;
  }

  #found(jid: string): SaltMap {
    const job = this.#running.get(jid);
    return mapOf(job === undefined ? {} : { jid });
  }

  /** Three tries, then the return is lost. */
  async #deliver(load: SaltMap, jid: string): Promise<void> {
    const { random, trace, on, request } = this.#around;
    const timeoutMs = random.between(RETURN_MS.least, RETURN_MS.most);
    // A socket of its own for each return, as from 3006.26 on.
    const peer = request.newPeer();
    for (let tries = 1; tries <= TRIES && !this.#isOver; tries += 1) {
      if (await this.#sendReturn(load, peer, tries, timeoutMs)) {
        trace.note(this.id, `acknowledged ${jid}`);
        on.acknowledged(this.id, jid, contentOf(pack(load)));
        return;
      }
    }
    trace.note(this.id, `gives up ${jid}`);
  }

  async #sendReturn(
    load: SaltMap,
    peer: number,
    turn: number,
    timeoutMs: number,
  ): Promise<boolean> {
    for (let again = 0; again < 2; again += 1) {
      const credentials = this.#credentials;
      if (credentials === undefined) return false;
      const nonce = `${this.id}-${peer}-${turn}-${again}`.padEnd(32, '0').slice(0, 32);
      const full: SaltMap = new Map(load);
      full.set('nonce', nonce);
      full.set('ts', Math.floor(this.#around.time.wall / 1000));
      full.set('tok', this.#tok);
      const sealed = credentials.session.seal(pack(full));
      const body = aesEnvelope({ load: sealed, version: VERSION, id: this.id, ...ALGORITHMS });
      const { request } = this.#around;
      const reply = await request.request(peer, body, timeoutMs);
      if (reply === undefined) return false;
      const answer = unpack(reply);
      if (answer instanceof Uint8Array) {
        credentials.session.openReply(answer, nonce);
        return true;
      }
      // `bad load`: the keys are others now.
      if (!(await this.#signIn())) return false;
    }
    return false;
  }

  #signIn(): Promise<boolean> {
    this.#signing ??= this.#signInNow().finally(() => (this.#signing = undefined));
    return this.#signing;
  }

  async #signInNow(): Promise<boolean> {
    const { request, trace, on } = this.#around;
    for (let tries = 0; tries < AUTH_TRIES && !this.#isOver; tries += 1) {
      const attempt = beginSignIn(this.#identity, this.#masterPub);
      const reply = await request.request(this.#peer, attempt.body, AUTH_TIMEOUT_MS);
      if (reply === undefined) continue;
      let outcome;
      try {
        outcome = finishSignIn(this.#identity, attempt, this.#masterPub, reply);
      } catch {
        // `bad load`: not now; the next publication or request tries again.
        return false;
      }
      if (outcome.kind !== 'accepted') return false;
      this.#credentials = outcome.credentials;
      this.#masterPub = outcome.credentials.masterPub;
      on.learnt(outcome.credentials);
      trace.note(this.id, 'signed in');
      return true;
    }
    return false;
  }
}

import { type Crypticle, minionToken } from '@brine/crypt';
import { TestPeer } from '@brine/testing/peers';
import { mapOf, textOf, unpackMap } from '@brine/wire';
import { readPublication } from '@brine/wire/frames';
import { ThinPeer } from '@brine/zmq';

/** Where a simulated minion finds its master. */
export interface PeerMaster {
  readonly host: string;
  readonly publishPort: number;
  readonly retPort: number;
}

/** As stock minions, but all alike. */
const RECONNECT_MS = 1_500;

/**
 * A simulated minion with a subscription: signs in, comes back when its connection ends, and
 * returns an empty map to each job that names it.
 */
export class AnsweringPeer {
  readonly id: string;
  /** False: it takes jobs and returns nothing, as on a host that is busy. */
  answers = true;
  readonly #master: PeerMaster;
  readonly #requests: TestPeer;
  readonly #aes: Crypticle;
  #subscription: ThinPeer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(id: string, master: PeerMaster, requests: TestPeer, aes: Crypticle) {
    this.id = id;
    this.#master = master;
    this.#requests = requests;
    this.#aes = aes;
  }

  /** Signs in at a master that accepts every key, and subscribes. */
  static async join(id: string, master: PeerMaster): Promise<AnsweringPeer> {
    const requests = await TestPeer.make(id, master.retPort, master.host);
    if (!(await requests.tryToSignIn())) throw new Error(`${id} was not accepted`);
    const peer = new AnsweringPeer(id, master, requests, requests.aes);
    // As a start does: a request that only its key can make.
    await requests.send(mapOf({ cmd: '_mine_flush', id }), minionToken(requests.key));
    await peer.#subscribe();
    return peer;
  }

  /** Ends as a process does: the kernel closes its sockets. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#subscription?.close();
    this.#requests.close();
  }

  async #subscribe(): Promise<void> {
    this.#subscription = await ThinPeer.open({
      host: this.#master.host,
      port: this.#master.publishPort,
      socketType: 'SUB',
      onMessage: (frames) => this.#take(Buffer.from(frames.at(-1) ?? [])),
      onClose: () => this.#again(),
    });
    this.#subscription.subscribe();
  }

  #again(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#subscribe().catch(() => this.#again());
    }, RECONNECT_MS);
  }

  #take(frame: Buffer): void {
    const body = this.#aes.open(readPublication(frame).load);
    if (body === undefined || !this.answers) return;
    const job = unpackMap(body);
    const tgt = job.get('tgt');
    const isNamed = Array.isArray(tgt) ? tgt.includes(this.id) : tgt === '*';
    const jid = textOf(job, 'jid');
    if (!isNamed || jid === undefined) return;
    const returned = mapOf({
      cmd: '_return',
      id: this.id,
      jid,
      fun: job.get('fun'),
      fun_args: job.get('arg'),
      return: mapOf({}),
      retcode: 0,
      success: true,
    });
    // Its connection may have ended: then it answers the next one.
    this.#requests.send(returned).catch(() => undefined);
  }
}

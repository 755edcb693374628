import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { Bus, REPLY_INBOX } from '@brine/bus';
import { RequestSender } from '@brine/bus/rpc';
import { aesEnvelope } from '@brine/wire/frames';
import { RequestServer } from '@brine/zmq';
import { Gateway } from '../src/gateway.ts';

/** Bytes of a sealed `test.ping` return, and of the answer to it. */
const RETURN_BYTES = 350;
const ANSWER_BYTES = 110;
/** A peer asks again when it has its answer, so many of them in one turn of the event loop. */
const PEERS_IN_ONE_TURN = 32;
const WORKER = 'w1';

/** A gateway whose sockets and NATS server are faked: what is left is its own code. */
export interface GatewayRig {
  /** Serves so many sealed returns; resolves with the µs of CPU time for each. */
  run(returns: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts one with so many connections. `reads`: the newest form of requests its worker reads. */
export async function gatewayRig(peers = 200, reads = 1_000): Promise<GatewayRig> {
  const nats = new FakeNats(reads);
  const bus = new Bus(nats as never, { name: 'req-gateway', url: 'nats://127.0.0.1' }, {});
  const sender = new RequestSender(bus, { host: 'host-1', onOutcome: () => undefined });
  const port = new FakePort();
  const server = await port.bind();
  const gateway = new Gateway({
    peers: server,
    workers: sender,
    memory: { claim: unused, answered: unused, delivered: unused },
    spans: { recordSpan: () => undefined },
    minimumAuthVersion: 3,
  });
  const running = gateway.run();
  const sockets = Array.from({ length: peers }, (_, index) => new FakeSocket(index));
  for (const socket of sockets) port.connect(socket);
  nats.announce();
  return {
    run: (returns) => serve(sockets, returns),
    close: async () => {
      await server.close();
      sender.close();
      nats.end();
      await running;
    },
  };
}

function serve(sockets: readonly FakeSocket[], returns: number): Promise<number> {
  const before = process.cpuUsage();
  let asked = 0;
  let answered = 0;
  const ready = [...sockets];
  return new Promise((resolve) => {
    const ask = (): void => {
      const now = ready.splice(0, PEERS_IN_ONE_TURN);
      for (const socket of now) {
        if (asked === returns) return;
        asked += 1;
        socket.ask();
      }
      if (asked < returns) setImmediate(ask);
    };
    for (const socket of sockets) {
      socket.onAnswer = () => {
        ready.push(socket);
        answered += 1;
        if (answered < returns) return;
        const { user, system } = process.cpuUsage(before);
        resolve((user + system) / returns);
      };
    }
    ask();
  });
}

function unused(): Promise<never> {
  return Promise.reject(new Error('no publish is measured here'));
}

/** Port 4506 without a kernel: `RequestServer` binds and accepts as ever. */
class FakePort {
  readonly #server = Object.assign(new EventEmitter(), {
    listen: (_options: object, listening: () => void) => listening(),
    address: () => ({ port: 4506 }),
    close: (closed: () => void) => closed(),
  });

  async bind(): Promise<RequestServer> {
    const { createServer } = net;
    net.createServer = (() => this.#server) as never;
    syncBuiltinESMExports();
    try {
      return await RequestServer.bind({ endpoint: 'tcp://127.0.0.1:4506', maxMessageBytes: 1e6 });
    } finally {
      net.createServer = createServer;
      syncBuiltinESMExports();
    }
  }

  connect(socket: FakeSocket): void {
    this.#server.emit('connection', socket);
    socket.emit('data', HANDSHAKE);
  }
}

/** What libzmq sends as REQ: its greeting and READY. */
const HANDSHAKE = Buffer.concat([
  Buffer.from('ff00000000000000007f0300', 'hex'),
  Buffer.from('NULL'.padEnd(20 + 32, '\0')),
  Buffer.from('\x04\x26\x05READY\x0bSocket-Type\0\0\0\x03REQ\x08Identity\0\0\0\0', 'latin1'),
]);

/** The connection of one minion. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly writable = true;
  readonly writableLength = 0;
  readonly bytesWritten = 0;
  onAnswer: () => void = () => undefined;
  readonly #request: Buffer;

  constructor(index: number) {
    super();
    this.remoteAddress = `10.0.${index >> 8}.${index & 255}`;
    const id = `minion-${String(index).padStart(4, '0')}.example.org`;
    const parts = { version: 3, id, encAlgo: 'OAEP-SHA1', sigAlgo: 'PKCS1v15-SHA1' };
    const body = aesEnvelope({ load: Buffer.alloc(RETURN_BYTES - 120, 7), ...parts });
    const head = Buffer.from([1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(body.length, 7);
    this.#request = Buffer.concat([head, body]);
  }

  /** A chunk of its own, as the kernel's bytes come. */
  ask(): void {
    this.emit('data', Buffer.from(this.#request));
  }

  write(bytes: Uint8Array): boolean {
    if (bytes.length > ANSWER_BYTES) this.onAnswer();
    return true;
  }

  end(): void {
    this.emit('close');
  }

  destroy(): void {
    this.emit('close');
  }
}

type Callback = (error: null, msg: object) => void;

/** A NATS server with one worker behind it, which answers each request by the same words. */
class FakeNats {
  readonly #heard = new Map<string, Callback>();
  readonly #announcement: Buffer;
  #end: () => void = () => undefined;
  readonly #closed = new Promise<void>((resolve) => (this.#end = resolve));
  #announcing: NodeJS.Timeout | undefined;

  constructor(reads: number) {
    const one = { hand: 0, room: 10_000, concurrency: 5_000 };
    const load = { auth: one, clear: one, aes: one };
    this.#announcement = Buffer.from(
      JSON.stringify({ reads, host: 'host-1', draining: false, load }),
    );
  }

  announce(): void {
    const say = (): void =>
      this.#heard.get('brine.workers.*')?.(null, {
        subject: `brine.workers.${WORKER}`,
        data: this.#announcement,
      });
    say();
    this.#announcing = setInterval(say, 1_000);
  }

  end(): void {
    clearInterval(this.#announcing);
    this.#end();
  }

  closed(): Promise<void> {
    return this.#closed;
  }

  async *status(): AsyncGenerator<never> {
    await this.#closed;
  }

  isClosed(): boolean {
    return false;
  }

  isDraining(): boolean {
    return false;
  }

  subscribe(subject: string, { callback }: { callback: Callback }): object {
    this.#heard.set(subject, callback);
    return { unsubscribe: () => undefined };
  }

  publish(subject: string, data: Uint8Array, options: { readonly reply?: string } = {}): void {
    const { reply } = options;
    if (reply === undefined || !subject.startsWith('brine.req.')) return;
    const answer = answersTo(data as Buffer);
    const gateway = reply.slice(0, reply.lastIndexOf('.') + 1);
    if (!gateway.startsWith(`${REPLY_INBOX}.`)) throw new Error(`no gateway's inbox: ${reply}`);
    setImmediate(() => this.#heard.get(`${gateway}*`)?.(null, { subject: reply, data: answer }));
  }
}

/** A bundle with an answer to each request of a bundle. */
function answersTo(bundle: Buffer): Buffer {
  const answers = Buffer.alloc(bundle.length, 9);
  let from = 0;
  let to = 0;
  while (from < bundle.length) {
    const slotBytes = bundle[from] as number;
    const head = 5 + slotBytes;
    bundle.copy(answers, to, from, from + head);
    answers.writeUInt32BE(2 + ANSWER_BYTES, to + 1);
    answers[to + head] = 0x52;
    answers[to + head + 1] = 0;
    to += head + 2 + ANSWER_BYTES;
    from += head + bundle.readUInt32BE(from + 1);
  }
  return answers.subarray(0, to);
}

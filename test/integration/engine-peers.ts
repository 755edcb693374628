// What engines send to: servers of lines and of fluentd's protocol, and a NATS of others.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { resolveNatsServer } from '@brine/nats-server';
import { until } from '@brine/testing/waits';
import { isMap, mapOf, pack, type SaltValue, textOf, unpack } from '@brine/wire';

/** A TCP server on this host. */
class Peer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  protected constructor(onSocket: (socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
      onSocket(socket);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  protected listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }
}

/** Keeps the lines that it gets, as logstash with a codec for lines. */
export class LinePeer extends Peer {
  readonly lines: string[];

  private constructor(lines: string[]) {
    super((socket) => createInterface({ input: socket }).on('line', (line) => lines.push(line)));
    this.lines = lines;
  }

  static async start(): Promise<LinePeer> {
    const peer = new LinePeer([]);
    await peer.listen();
    return peer;
  }
}

/** Keeps the records that it gets, and acknowledges each, as fluentd does. */
export class FluentPeer extends Peer {
  readonly records: (readonly [tag: string, record: object])[];

  private constructor(records: (readonly [tag: string, record: object])[]) {
    super((socket) =>
      socket.on('data', (data: Buffer) => {
        const [tag, , record, option] = unpack(data) as SaltValue[];
        if (typeof tag !== 'string' || !isMap(record) || !isMap(option)) return;
        records.push([tag, Object.fromEntries(record) as object]);
        socket.write(pack(mapOf({ ack: textOf(option, 'chunk') })));
      }),
    );
    this.records = records;
  }

  static async start(): Promise<FluentPeer> {
    const peer = new FluentPeer([]);
    await peer.listen();
    return peer;
  }
}

/** Name of the stream there. */
const STREAM = 'OUT';

/** A NATS server of others, with a stream for some subjects, and a subscriber to them. */
export class NatsPeer {
  readonly messages: (readonly [subject: string, payload: string])[] = [];
  /** `host:port`. */
  readonly address: string;
  readonly #dir: string;
  readonly #process: ChildProcess;
  readonly #socket: Socket;
  #heard = '';

  private constructor(address: string, dir: string, child: ChildProcess, subjects: string) {
    const [host = '', port] = address.split(':');
    this.address = address;
    this.#dir = dir;
    this.#process = child;
    this.#socket = connect({ host, port: Number(port) });
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (data) => this.#hear(data.toString()));
    const stream = JSON.stringify({ name: STREAM, subjects: [subjects] });
    const create = `PUB $JS.API.STREAM.CREATE.${STREAM} made ${stream.length}\r\n${stream}\r\n`;
    this.#socket.write(`CONNECT {"verbose":false}\r\nSUB made 1\r\nSUB ${subjects} 2\r\n${create}`);
  }

  static async start(subjects: string): Promise<NatsPeer> {
    const binary = await resolveNatsServer({ env: process.env });
    const dir = await mkdtemp(join(tmpdir(), 'brine-others-'));
    const args = ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', dir, '--ports_file_dir', dir];
    const child = spawn(binary, args, { stdio: 'ignore' });
    const address = await until('it listens', () => addressIn(dir), { withinMs: 30_000 });
    const peer = new NatsPeer(address, dir, child, subjects);
    await until('its stream is made', () => peer.messages.length > 0, { withinMs: 30_000 });
    const [, made = ''] = peer.messages.shift() ?? [];
    if (made.includes('"error"')) throw new Error(made);
    return peer;
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await gone;
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Takes whole messages: `MSG <subject> <sid> [reply] <bytes>`, and lines between them. */
  #hear(text: string): void {
    this.#heard += text;
    for (;;) {
      const end = this.#heard.indexOf('\r\n');
      if (end < 0) return;
      const [verb, subject = '', ...rest] = this.#heard.slice(0, end).split(' ');
      const bytes = verb === 'MSG' ? Number(rest.at(-1)) + 2 : 0;
      if (this.#heard.length < end + 2 + bytes) return;
      const payload = this.#heard.slice(end + 2, end + bytes);
      this.#heard = this.#heard.slice(end + 2 + bytes);
      if (verb === 'MSG') this.messages.push([subject, payload]);
      if (verb === 'PING') this.#socket.write('PONG\r\n');
    }
  }
}

/** The server writes its ports into a file of its directory. */
async function addressIn(dir: string): Promise<string | undefined> {
  const file = (await readdir(dir)).find((name) => name.endsWith('.ports'));
  if (file === undefined) return undefined;
  const text = await readFile(join(dir, file), 'utf8');
  return /nats:\/\/([\d.]+:\d+)/.exec(text)?.[1];
}

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Address } from './fault-proxy.ts';
import { type Wire, WIRES } from './plan.ts';

const run = promisify(execFile);

/** Addresses for network tests, which no host uses (RFC 2544). */
const NETWORK = '198.18';

/** A passage over a wire: connections to its begin are forwarded to a port. */
export interface Passage {
  readonly wire: Wire;
  /** A listener of this process on {@link Wires.near} of the wire. */
  readonly port: number;
}

/**
 * A separate network namespace, and a pair of network devices for each wire between it and the
 * host. A process to cut off connects to a relay in the namespace, which connects back. While the
 * wire is cut nothing arrives in either direction, not even TCP acknowledgements.
 */
export class Wires {
  readonly #name: string;
  readonly #number: number;
  #relay: ChildProcess | undefined;

  private constructor(name: string, number: number) {
    this.#name = name;
    this.#number = number;
  }

  /** Undefined if this process may not make namespaces. */
  static async open(): Promise<Wires | undefined> {
    if (process.getuid?.() !== 0) return undefined;
    const wires = new Wires(`brine-chaos-${process.pid}`, process.pid % 250);
    try {
      await wires.#make();
      return wires;
    } catch {
      // No right to make it, or no program: skip this kind of fault.
      await wires.close();
      return undefined;
    }
  }

  /** The host's end of a wire. */
  near(wire: Wire): string {
    return this.#address(wire, 1);
  }

  /** Starts the relay; returns the begin of each passage, in order. Throws Error. */
  async relay(passages: readonly Passage[]): Promise<Address[]> {
    const own = import.meta.url.endsWith('.ts');
    const entry = fileURLToPath(new URL(own ? 'relay-main.ts' : 'relay-main.js', import.meta.url));
    const orders = passages.map(({ wire, port }) => ({
      listen: this.#address(wire, 2),
      to: { host: this.near(wire), port },
    }));
    const args = [
      ...(own ? ['--conditions=source', '--import', import.meta.resolve('tsx')] : []),
      entry,
      JSON.stringify(orders),
    ];
    const relay = spawn('ip', ['netns', 'exec', this.#name, process.execPath, ...args], {
      // It ends with its input, so also when this process is killed.
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#relay = relay;
    const [line] = (await Promise.race([
      once(relay.stdout, 'data'),
      once(relay, 'exit').then(() => Promise.reject(new Error('the relay did not start'))),
    ])) as [Buffer];
    const ports = JSON.parse(line.toString()) as number[];
    return passages.map(({ wire }, index) => ({
      host: this.#address(wire, 2),
      port: ports[index] ?? 0,
    }));
  }

  /** From now on nothing arrives. */
  async cut(wire: Wire): Promise<void> {
    await run('ip', ['-n', this.#name, 'link', 'set', this.#device(wire, 'n'), 'down']);
  }

  /** Mends the wire; open connections resume by themselves. */
  async mend(wire: Wire): Promise<void> {
    await run('ip', ['-n', this.#name, 'link', 'set', this.#device(wire, 'n'), 'up']);
  }

  async close(): Promise<void> {
    const relay = this.#relay;
    this.#relay = undefined;
    if (relay !== undefined && relay.exitCode === null && relay.signalCode === null) {
      const gone = once(relay, 'exit');
      relay.stdin?.end();
      await gone;
    }
    // Deletes its devices too. Fails harmlessly if it was never made.
    await run('ip', ['netns', 'delete', this.#name]).catch(() => undefined);
  }

  async #make(): Promise<void> {
    await run('ip', ['netns', 'add', this.#name]);
    for (const wire of WIRES) {
      const [host, inside] = [this.#device(wire, 'h'), this.#device(wire, 'n')];
      const peer = ['peer', 'name', inside, 'netns', this.#name];
      await run('ip', ['link', 'add', host, 'type', 'veth', ...peer]);
      await run('ip', ['address', 'add', `${this.near(wire)}/30`, 'dev', host]);
      await run('ip', ['link', 'set', host, 'up']);
      const far = `${this.#address(wire, 2)}/30`;
      await run('ip', ['-n', this.#name, 'address', 'add', far, 'dev', inside]);
      await run('ip', ['-n', this.#name, 'link', 'set', inside, 'up']);
    }
  }

  /** Names of devices have 15 characters at most. */
  #device(wire: Wire, end: 'h' | 'n'): string {
    return `bc${WIRES.indexOf(wire)}${end}${process.pid}`;
  }

  #address(wire: Wire, end: 1 | 2): string {
    return `${NETWORK}.${this.#number}.${WIRES.indexOf(wire) * 4 + end}`;
  }
}

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { displayOf, JobRecords } from '@brine/client';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { EventClient } from '@brine/ipc';
import { readStatus } from '@brine/operations/cluster-status';
import { formatTrace, readTrace, traceDir } from '@brine/telemetry';
import { runConsole } from '../commands/console.ts';
import { runKey } from '../commands/key.ts';
import { minionProgram } from '../commands/minion.ts';
import { runSalt } from '../commands/salt.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { openLocalMaster } from '../local-master.ts';
import type { Terminal } from '../terminal.ts';
import { DEMO_MINIONS, type DemoDirectory } from './demo-directory.ts';
import { DemoProcess } from './demo-process.ts';

/** The first start may download the NATS server and unpack PostgreSQL. */
const MASTER_START_MS = 300_000;
const MINION_START_MS = 60_000;
const LOOK_EVERY_MS = 150;
/** Timeout for a job's row and the last spans of its trace, ms. */
const RECORD_MS = 10_000;

/** Fields of a row that the demonstration hides. */
const ROW_DETAILS = ['load', 'hidden', 'incarnation', 'requestId', 'origin', 'missing', 'seq'];

/** A step of the demonstration that failed, with advice. */
export class DemoError extends Error {
  readonly advice: string;

  constructor(text: string, advice: string) {
    super(text);
    this.name = 'DemoError';
    this.advice = advice;
  }
}

/** A demonstration while it runs. */
export class Demo {
  readonly directory: DemoDirectory;
  readonly #terminal: Terminal;
  readonly #config: MasterOptions;
  readonly #processes: DemoProcess[] = [];
  readonly #startedMs = Date.now();

  constructor(directory: DemoDirectory, terminal: Terminal) {
    this.directory = directory;
    this.#terminal = terminal;
    this.#config = loadMasterConfig({ configDir: directory.root, env: {} }).options;
  }

  /** Starts the master and resolves when every service serves. */
  async startMaster(): Promise<void> {
    const program = fileURLToPath(new URL('../../bin/brine.mjs', import.meta.url));
    const args = ['master', '-c', this.directory.root, '-l', 'info'];
    const master = new DemoProcess('master', program, args, this.directory.masterLog);
    this.#processes.push(master);
    const shown = new Set<string>();
    await this.#until(MASTER_START_MS, 'the master does not serve', async () => {
      const status = await readStatus(this.#config);
      for (const { name, ready } of status.services) {
        if (!ready || shown.has(name)) continue;
        shown.add(name);
        this.#print(`${name} serves`);
      }
      return status.serving;
    });
    const { publishPort, retPort } = this.#config;
    this.#print(`the master serves on 127.0.0.1, ports ${publishPort} and ${retPort}`);
  }

  /** Starts two minions and accepts their keys; resolves when both are ready for jobs. */
  async startMinions(): Promise<void> {
    const started = new Set<string>();
    const events = await EventClient.connect({
      path: join(this.#config.sockDir, 'master_event_pub.ipc'),
      framing: this.#config.brine.eventFraming,
      accept: (tag) => tag.startsWith('salt/minion/'),
    });
    const follow = async (): Promise<void> => {
      for await (const { tag } of events) started.add(tag.split('/')[2] ?? '');
    };
    const following = follow();
    following.catch(() => undefined);
    try {
      for (const id of DEMO_MINIONS) {
        const args = ['-c', this.directory.minionConfig(id)];
        const log = this.directory.minionLog(id);
        // On one host the minions can write spans to the master's directory.
        const env = { BRINE_TRACE_CACHEDIR: this.#config.cachedir };
        this.#processes.push(new DemoProcess(`minion ${id}`, minionProgram(), args, log, env));
      }
      const ring = new KeyRing(this.#config);
      await this.#until(MINION_START_MS, 'the minions did not send their keys', async () => {
        const pending = (await ring.all()).get('minions_pre') ?? [];
        return DEMO_MINIONS.every((id) => pending.includes(id));
      });
      this.#print('both minions have sent their keys; accepting them:');
      this.#terminal.out('\n');
      await this.#command('key', ['-A', '-y'], runKey);
      await this.#until(MINION_START_MS, 'the minions did not sign in', async () =>
        DEMO_MINIONS.every((id) => started.has(id)),
      );
      this.#print('both minions are ready');
      this.#terminal.out('\n');
    } finally {
      events.close();
    }
  }

  /** Runs a job and shows its returns; returns its id. */
  async runJob(words: readonly string[]): Promise<string> {
    let jid = '';
    const terminal = this.#view((text) => {
      // Take the id from the output without showing it.
      const own = /^jid: (\d+)\n$/.exec(text);
      if (own?.[1] === undefined) this.#terminal.out(text);
      else jid = own[1];
    });
    const run = (args: readonly string[]): Promise<number> =>
      runSalt(['--show-jid', ...args], terminal);
    const code = await this.#command('salt', words, run);
    if (code !== 0 || jid === '') {
      throw new DemoError(`salt ${words.join(' ')} ended with ${code}`, this.#whereToLook());
    }
    return jid;
  }

  /** Shows the row of a job in PostgreSQL. */
  async showRecord(jid: string): Promise<void> {
    const master = openLocalMaster(this.#config, this.#terminal);
    try {
      const records = new JobRecords(master.client);
      let row = await records.row(jid);
      const until = Date.now() + RECORD_MS;
      while (Date.now() < until && (row === undefined || waiting(row.get('ledger')))) {
        await sleep(LOOK_EVERY_MS);
        row = await records.row(jid);
      }
      if (row === undefined) throw new DemoError('the job is not recorded', this.#whereToLook());
      for (const name of ROW_DETAILS) row.delete(name);
      for (const name of ['publishedAt', 'deadlineAt']) {
        const ms = row.get(name);
        if (typeof ms === 'number') row.set(name, new Date(ms).toISOString());
      }
      this.#terminal.out(
        `The row of job ${jid} in PostgreSQL (tables brine.jobs, brine.returns):\n\n`,
      );
      const color = this.#terminal.isTerminal;
      this.#terminal.out(`${displayOf(row, 'nested', { color }).text}\n\n`);
    } finally {
      await master.close();
    }
  }

  /** Shows the path of a job through all services. */
  async showTrace(jid: string): Promise<void> {
    const dir = traceDir(this.#config.cachedir);
    let trace = await readTrace(dir, jid);
    // Services write their spans a moment later; wait until no more come.
    for (const until = Date.now() + RECORD_MS; Date.now() < until;) {
      await sleep(1000);
      const next = await readTrace(dir, jid);
      const settled = next.spans > 0 && next.spans === trace.spans;
      trace = next;
      if (settled) break;
    }
    this.#terminal.out(`${formatTrace(trace)}\n`);
  }

  /** Shows an address that logs a browser in. */
  async showConsole(): Promise<void> {
    await this.#command('console', [], runConsole);
  }

  /** The command that stops the last minion, to try what its absence looks like. */
  get stopLastMinion(): string {
    return `kill ${this.#minions.at(-1)?.pid ?? ''}`;
  }

  /** Resolves when the master ends. A minion that ends is named: it may be stopped to try that. */
  async masterEnd(): Promise<string> {
    for (const minion of this.#minions) {
      void minion.ended.then((how) => this.#print(`${minion.name} ended: ${how}`));
    }
    const [master] = this.#processes;
    return `the master ended: ${await (master?.ended ?? 'it was not started')}`;
  }

  get #minions(): readonly DemoProcess[] {
    return this.#processes.slice(1);
  }

  /** Stops everything, last started first. */
  async stop(): Promise<void> {
    for (const process of this.#processes.toReversed()) await process.stop();
  }

  /** Ends everything at once. */
  kill(): void {
    for (const process of this.#processes) process.kill();
  }

  /** The terminal for a command that the demonstration runs: Ctrl-C stops the demonstration. */
  #view(out: (text: string) => void): Terminal {
    const { isTerminal, err } = this.#terminal;
    return {
      isTerminal,
      ownsSignals: false,
      out,
      err,
      ask: (question, where) => this.#terminal.ask(question, where),
      askSecret: (question) => this.#terminal.askSecret(question),
      readInput: () => this.#terminal.readInput(),
    };
  }

  async #command(
    name: string,
    words: readonly string[],
    run: (args: readonly string[], terminal: Terminal) => Promise<number>,
  ): Promise<number> {
    const shown = words.map((word) => (/^[\w.,=/-]+$/.test(word) ? word : `'${word}'`));
    this.#terminal.out(`$ ${['brine', name, ...shown].join(' ')}\n`);
    const code = await run(['-c', this.directory.root, ...words], this.#terminal);
    this.#terminal.out('\n');
    return code;
  }

  #print(text: string): void {
    const seconds = ((Date.now() - this.#startedMs) / 1000).toFixed(1);
    this.#terminal.out(`[${seconds.padStart(5)} s] ${text}\n`);
  }

  async #until(ms: number, failure: string, look: () => Promise<boolean>): Promise<void> {
    const until = Date.now() + ms;
    while (!(await look())) {
      const dead = this.#processes.find((process) => !process.running);
      if (dead !== undefined) {
        const how = await dead.ended;
        throw new DemoError(`${failure}: ${dead.name} ended, ${how}`, this.#whereToLook(dead));
      }
      if (Date.now() > until) throw new DemoError(failure, this.#whereToLook());
      await sleep(LOOK_EVERY_MS);
    }
  }

  #whereToLook(process = this.#processes[0]): string {
    if (process === undefined) return '';
    return `The last lines of its log:\n\n${process.tail()}\n`;
  }
}

function waiting(ledger: unknown): boolean {
  return ledger instanceof Map && (ledger as ReadonlyMap<unknown, unknown>).get('waiting') !== 0;
}

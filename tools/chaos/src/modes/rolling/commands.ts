import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrineMaster, type SaltHome, type SaltVenv, saltVenv } from '@brine/testing';
import { REAL_PREFIX, RELEASES } from './real-minions.ts';

/** Event sockets by what each release reads (`apps/event-bus`, decision on framing). */
const FRAMING = { '3006.26': 'prefixed', '3007.13': 'bare', '3008.2': 'bare' } as const;

/** Results of the commands. */
export interface CommandCounts {
  readonly typed: number;
  /** Output of each failed command: exit code not 0, or not exactly the answers of all minions. */
  readonly failed: readonly string[];
}

/** Longest time of a command, ms: it waits 5 s, sends find_job, and waits 10 s more. */
const COMMAND_MS = 120_000;
const OUTPUT_MAX = 600;

/** Stock `salt` commands to real minions, and Brine's own, one after the other until stopped. */
export class Commands {
  readonly #master: BrineMaster;
  readonly #ids: readonly string[];
  readonly #lanes: readonly Promise<void>[];
  readonly #failed: string[] = [];
  #typed = 0;
  #running = true;

  private constructor(
    master: BrineMaster,
    ids: readonly string[],
    lanes: number,
    programs: readonly Program[],
  ) {
    this.#master = master;
    this.#ids = [...ids].sort();
    this.#lanes = Array.from({ length: lanes }, (_, lane) => this.#lane(lane, programs));
  }

  /** Starts this many at a time; `ids` are all minions that `real-*` matches. */
  static async start(
    master: BrineMaster,
    ids: readonly string[],
    lanes: number,
  ): Promise<Commands> {
    const programs: Program[] = [];
    for (const release of RELEASES) {
      const venv = await saltVenv(release);
      programs.push({ name: `salt ${release}`, venv, home: await configOf(master, release) });
    }
    return new Commands(master, ids, lanes, [...programs, { name: 'brine salt' }]);
  }

  /** Starts no more; resolves when the last one has ended. */
  async stop(): Promise<CommandCounts> {
    this.#running = false;
    await Promise.all(this.#lanes);
    return { typed: this.#typed, failed: this.#failed };
  }

  async #lane(lane: number, programs: readonly Program[]): Promise<void> {
    for (let turn = lane; this.#running; turn += 1) {
      const program = programs[turn % programs.length];
      if (program === undefined) return;
      this.#typed += 1;
      const startedAt = performance.now();
      const output = await this.#type(program, `turn-${lane}-${turn}`);
      const ms = Math.round(performance.now() - startedAt);
      if (output !== undefined) this.#failed.push(`${program.name} after ${ms} ms: ${output}`);
    }
  }

  /** The failure; undefined on success. */
  async #type({ venv, home }: Program, word: string): Promise<string | undefined> {
    const args = [`${REAL_PREFIX}*`, 'test.echo', word, '--out=json', '--no-color'];
    try {
      const { code, stdout, stderr } =
        venv === undefined || home === undefined
          ? await this.#master.brine('salt', args, COMMAND_MS)
          : await this.#master.sandbox.run(venv, 'salt', home, args, COMMAND_MS);
      // One JSON object for each minion, in the order of their answers.
      const found = [...stdout.matchAll(/"(real-\d+)": "([^"]*)"/g)];
      const all = found.map(([, id = '']) => id).sort();
      const good = found.every(([, , answer]) => answer === word);
      if (code === 0 && good && all.join(' ') === this.#ids.join(' ')) return undefined;
      return `${word}: exit ${code}: ${stderr}${stdout}`
        .replaceAll(/\s+/g, ' ')
        .slice(0, OUTPUT_MAX);
    } catch (error) {
      return `${word}: ${(error as Error).message}`.replaceAll(/\s+/g, ' ').slice(0, OUTPUT_MAX);
    }
  }
}

/** A stock command, or Brine's if there is no Salt. */
interface Program {
  readonly name: string;
  readonly venv?: SaltVenv;
  readonly home?: SaltHome;
}

/** A configuration that points a stock release at the sockets that it reads. */
async function configOf(
  master: BrineMaster,
  release: (typeof RELEASES)[number],
): Promise<SaltHome> {
  const configDir = join(master.sandbox.dir, `cli-${release}`);
  await mkdir(configDir);
  await chmod(configDir, 0o755);
  const sockDir = join(master.home.sockDir, FRAMING[release]);
  const kept = (await master.file('master'))
    .split('\n')
    .filter((line) => !/^(sock_dir|brine):/.test(line));
  const lines = [...kept, `sock_dir: ${JSON.stringify(sockDir)}`];
  await writeFile(join(configDir, 'master'), `${lines.join('\n')}\n`);
  return { ...master.home, configDir, sockDir };
}

import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type SaltHome,
  type SaltPorts,
  SaltProcess,
  SaltSandbox,
  type SaltVenv,
} from '@brine/testing';

/** Where lower masters of a test listen: a syndic looks for its own publish_port at the upper. */
export const LOWER_HOST = '127.0.0.2';
const START_TIMEOUT_MS = 90_000;

/** What is below an upper master on 127.0.0.1. */
export interface LowerSettings {
  readonly venv: SaltVenv;
  /** Id of the syndic at the upper master. */
  readonly syndic: string;
  readonly minions: readonly string[];
  /** Of this master on {@link LOWER_HOST}, and of the upper one on 127.0.0.1. */
  readonly publishPort: number;
  readonly retPort: number;
  /** `ret_port` of the upper master. */
  readonly upperPort: number;
  /** The directory of its states. */
  readonly states: string;
}

/** A directory with the state `tree`, for the master next to the minions. */
export const TREE_STATES = fileURLToPath(new URL('tree-states', import.meta.url));

/** What `state.apply tree` comes to on every minion, as far as it is the same on each. */
export const TREE_APPLIED = {
  'test_|-changes 42_|-changes 42_|-succeed_with_changes': {
    __id__: 'changes 42',
    __sls__: 'tree',
    __run_num__: 0,
    result: true,
    changes: { testing: { old: 'Unchanged', new: 'Something pretended to change' } },
  },
  'test_|-none_|-none_|-nop': { __id__: 'none', __run_num__: 1, result: true, changes: {} },
};

/** A real salt-master with a real salt-syndic and real minions, in a directory of its own. */
export class LowerMaster {
  readonly home: SaltHome & SaltPorts;
  readonly #settings: LowerSettings;
  readonly #sandbox: SaltSandbox;
  readonly #processes = new Map<string, SaltProcess>();

  private constructor(settings: LowerSettings, sandbox: SaltSandbox, home: SaltHome & SaltPorts) {
    this.#settings = settings;
    this.#sandbox = sandbox;
    this.home = home;
  }

  /** Starts all of it; nothing has signed in at the upper master yet. */
  static async start(settings: LowerSettings): Promise<LowerMaster> {
    const { syndic, minions, publishPort, retPort, upperPort, states } = settings;
    const sandbox = await SaltSandbox.create();
    const home = await sandbox.master(
      {
        interface: LOWER_HOST,
        syndic_master: '127.0.0.1',
        syndic_master_port: upperPort,
        file_roots: { base: [states] },
        syndic_log_file: '/dev/null',
        syndic_pidfile: join(sandbox.dir, 'syndic.pid'),
      },
      { publishPort, retPort },
    );
    const lower = new LowerMaster(settings, sandbox, home);
    lower.#start('salt-master', home);
    await reachable(retPort);
    await reachable(publishPort);
    await Promise.all(minions.map((id) => lower.startMinion(id)));
    await lower.startSyndic(syndic);
    return lower;
  }

  /** Starts a syndic of this id, or starts it again. */
  async startSyndic(id: string): Promise<void> {
    // A syndic reads both files; its keys and its id are those of the minion's.
    const configDir = join(this.#sandbox.dir, id);
    const pkiDir = join(configDir, 'pki');
    await mkdir(pkiDir, { recursive: true, mode: 0o700 });
    await copyFile(join(this.home.configDir, 'master'), join(configDir, 'master'));
    await writeFile(
      join(configDir, 'minion'),
      Object.entries({ id, pki_dir: pkiDir, acceptance_wait_time: 1, ipv6: false })
        .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
        .join(''),
    );
    const logFile = join(this.#sandbox.dir, `${id}.log`);
    this.#start('salt-syndic', { ...this.home, configDir, pkiDir, logFile }, id);
  }

  /** Ends a syndic at once. */
  async killSyndic(id: string): Promise<void> {
    const one = this.#processes.get(id);
    if (one?.pid !== undefined) process.kill(-one.pid, 'SIGKILL');
    await one?.stop();
  }

  async startMinion(id: string): Promise<void> {
    const config = { master: LOWER_HOST };
    const home = await this.#sandbox.minion(id, this.#settings.retPort, config);
    this.#start('salt-minion', home, id);
  }

  async stopMinion(id: string): Promise<void> {
    await this.#processes.get(id)?.stop();
  }

  /** Runs one of Salt's commands on this master. */
  run(command: string, args: readonly string[]): ReturnType<SaltSandbox['run']> {
    return this.#sandbox.run(this.#settings.venv, command, this.home, args);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((one) => one.stop()));
    await this.#sandbox.close();
  }

  #start(command: string, home: SaltHome, key = 'master'): void {
    const { venv } = this.#settings;
    const level = command === 'salt-minion' ? 'info' : 'debug';
    const args = [venv.bin(command), '-c', home.configDir, '-l', level];
    const env = this.#sandbox.env();
    const { logFile } = home;
    this.#processes.set(key, SaltProcess.start({ command: venv.python, args, env, logFile }));
  }
}

async function reachable(port: number): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  const connects = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = createConnection({ port, host: LOWER_HOST });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  while (!(await connects())) {
    if (Date.now() > until) throw new Error(`nothing listens on ${LOWER_HOST}:${port}`);
    await sleep(100);
  }
}

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type SaltHome,
  type SaltOutput,
  type SaltPorts,
  SaltSandbox,
  type SaltVenv,
} from '@brine/testing';
import { until } from '@brine/testing/waits';
import { CaseLab, labFiles, MINIONS, type Replaced } from './case-lab.ts';
import { besideSalt } from './tools.ts';

/** Longest that the minions take to sign in, ms. */
const COME_MS = 180_000;

/** The lab of the recordings on a stock master, for recording them again. */
export class StockLab extends CaseLab {
  readonly #home: SaltHome & SaltPorts;
  /** The lab's states, pillar and users. */
  readonly #files: string;

  private constructor(
    venv: SaltVenv,
    given: {
      readonly sandbox: SaltSandbox;
      readonly home: SaltHome & SaltPorts;
      readonly files: string;
    },
  ) {
    const { sandbox, home, files } = given;
    super({ venv, sandbox, stockConfig: home.configDir, retPort: home.retPort });
    this.#home = home;
    this.#files = files;
  }

  /**
   * Starts all of it; resolves when the minions know the lab's module, pillar and mine.
   * @param older of the two minions that are of another release
   */
  static async start(venv: SaltVenv, older: SaltVenv): Promise<StockLab> {
    const sandbox = await SaltSandbox.create();
    const files = await mkdtemp(join(tmpdir(), 'brine-lab-'));
    const home = await sandbox.master(await labFiles(files));
    const lab = new StockLab(venv, { sandbox, home, files });
    try {
      const env = await besideSalt(venv);
      await sandbox.startMaster(venv, home, { logLevel: 'warning', env });
      await lab.startMinions(older);
      await until('all minions answer', () => lab.#allAnswer(), { withinMs: COME_MS });
      await lab.teachMinions((args) => lab.#salt(args));
      return lab;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  override replaced(): readonly Replaced[] {
    const { cacheDir, pkiDir, sockDir } = this.#home;
    return [
      ...super.replaced(),
      [this.#files, '<ROOT>'],
      [cacheDir, '<ROOT>/cache'],
      [pkiDir, '<ROOT>/pki'],
      [sockDir, '<ROOT>/sock'],
    ];
  }

  override async clearJobs(): Promise<void> {
    await this.nothingRuns();
    const dir = join(this.#home.cacheDir, 'jobs');
    for (const name of await readdir(dir)) {
      await rm(join(dir, name), { recursive: true, force: true, maxRetries: 5 });
    }
  }

  override async close(): Promise<void> {
    await this.sandbox.close();
    await rm(this.#files, { recursive: true });
  }

  #salt(args: readonly string[]): Promise<SaltOutput> {
    return this.sandbox.run(this.venv, 'salt', this.#home, args);
  }

  async #allAnswer(): Promise<boolean> {
    const args = ['*', 'test.ping', '--static', '--out', 'json', '-t', '5'];
    const { stdout } = await this.#salt(args);
    return MINIONS.every((id) => stdout.includes(`"${id}": true`));
  }
}

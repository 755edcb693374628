import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrineMaster, SaltProcess } from '@brine/testing';

const RELAY = fileURLToPath(
  new URL('../../../../../apps/syndic-relay/dist/main.js', import.meta.url),
);

/** Writes id and keys to the minion configuration beside the master's, as for salt-syndic. */
export async function asSyndic(configDir: string, id: string): Promise<void> {
  const pkiDir = join(configDir, 'syndic-pki');
  await mkdir(pkiDir, { recursive: true });
  const lines = [`id: ${id}`, `pki_dir: ${pkiDir}`, 'acceptance_wait_time: 1'];
  await writeFile(join(configDir, 'minion'), `${lines.join('\n')}\n`);
}

/** A relay beside the master's own, as on another host; restarted after each kill. */
export class SecondRelay {
  readonly #start: () => SaltProcess;
  #process: SaltProcess;
  #closing = false;
  readonly #kept: Promise<void>;

  private constructor(start: () => SaltProcess) {
    this.#start = start;
    this.#process = start();
    this.#kept = this.#keep();
  }

  static async start(master: BrineMaster, natsUrl: string): Promise<SecondRelay> {
    const configDir = join(master.sandbox.dir, 'second-relay');
    await mkdir(configDir);
    await copyFile(join(master.home.configDir, 'master'), join(configDir, 'master'));
    await asSyndic(configDir, 'syndic-2');
    const env = { ...master.sandbox.env(), NATS_URL: natsUrl };
    return new SecondRelay(() =>
      SaltProcess.start({
        command: process.execPath,
        args: [RELAY, '-c', configDir, '-l', 'info'],
        env,
        logFile: join(configDir, 'log'),
      }),
    );
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  log(): Promise<string> {
    return this.#process.log();
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#process.stop();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    for (;;) {
      await this.#process.exited;
      if (this.#closing) return;
      this.#process = this.#start();
    }
  }
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts, SaltProcess, type SaltVenv, waitForPort } from '@brine/testing';
import { cherrypyBeside } from '@brine/testing/packages';
import { HttpClient } from '../http/http-client.ts';
import type { Lab } from '../transcripts/lab.ts';

const START_MS = 60_000;

/** Where a salt-api runs. */
export interface SaltApiSite {
  readonly venv: SaltVenv;
  readonly env: Readonly<Record<string, string>>;
  /** Gets its configuration and logs. */
  readonly dir: string;
  /** The file of its master. */
  readonly master: string;
  readonly port: number;
}

/** Salt's own salt-api on the host of a Brine master. */
export class SaltApi {
  readonly #process: SaltProcess;
  readonly http: HttpClient;

  private constructor(process: SaltProcess, port: number) {
    this.#process = process;
    this.http = new HttpClient(port);
  }

  /** Starts one for a lab, beside Brine's own. Resolves when it takes requests. */
  static async start(lab: Lab): Promise<SaltApi> {
    const [port = 0] = await freePorts(1);
    const master = await readFile(join(lab.stockConfig, 'master'), 'utf8');
    const { venv, sandbox } = lab;
    return SaltApi.startAt({ venv, env: sandbox.env(), dir: lab.folder('api'), master, port });
  }

  /** Starts one. Resolves when it takes requests. */
  static async startAt({ venv, env, dir, master, port }: SaltApiSite): Promise<SaltApi> {
    const packages = await cherrypyBeside(venv);
    await mkdir(dir);
    const web = { host: '127.0.0.1', port, disable_ssl: true, expire_responses: false };
    const lines = [
      // Brine's own may have another port.
      ...master.split('\n').filter((line) => !/^(?:rest_cherrypy:|$)/.test(line)),
      `rest_cherrypy: ${JSON.stringify(web)}`,
      `api_logfile: ${join(dir, 'api.log')}`,
      `api_pidfile: ${join(dir, 'api.pid')}`,
    ];
    await writeFile(join(dir, 'master'), `${lines.join('\n')}\n`);
    const process = SaltProcess.start({
      command: venv.python,
      args: [venv.bin('salt-api'), '-c', dir, '-l', 'warning'],
      env: { ...env, PYTHONPATH: packages },
      logFile: join(dir, 'salt-api.out'),
    });
    try {
      await waitForPort(port, START_MS);
    } catch (error) {
      const log = await process.log();
      await process.stop();
      throw new Error(`salt-api takes no requests: ${log.slice(-3_000)}`, { cause: error });
    }
    return new SaltApi(process, port);
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  log(): Promise<string> {
    return this.#process.log();
  }
}

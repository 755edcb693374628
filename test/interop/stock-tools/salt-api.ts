import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts, SaltProcess, waitForPort } from '@brine/testing';
import { HttpClient } from '../http/http-client.ts';
import { packageBeside } from '../python/site.ts';
import type { Lab } from '../transcripts/lab.ts';

/** The web server that salt-api is written for, with what it needs. */
const CHERRYPY = 'cherrypy==18.10.0';
const NEEDS = [
  'backports.tarfile==1.2.0',
  'cheroot==11.1.2',
  'jaraco.collections==5.2.1',
  'jaraco.context==6.1.2',
  'jaraco.functools==4.6.0',
  'jaraco.text==4.3.0',
  'more-itertools==11.2.1',
  'portend==3.2.1',
  'tempora==5.13.0',
  'zc.lockfile==4.0',
];
const START_MS = 60_000;

/** Salt's own salt-api on the host of a lab's Brine master. */
export class SaltApi {
  readonly #process: SaltProcess;
  readonly http: HttpClient;

  private constructor(process: SaltProcess, port: number) {
    this.#process = process;
    this.http = new HttpClient(port);
  }

  /** Resolves when it takes requests. */
  static async start(lab: Lab): Promise<SaltApi> {
    const packages = await packageBeside(lab.venv, CHERRYPY, NEEDS);
    const [port = 0] = await freePorts(1);
    const configDir = lab.folder('CONF-api');
    await mkdir(configDir);
    const master = await readFile(join(lab.stockConfig, 'master'), 'utf8');
    const web = { host: '127.0.0.1', port, disable_ssl: true, expire_responses: false };
    const lines = [
      `rest_cherrypy: ${JSON.stringify(web)}`,
      `api_logfile: ${lab.folder('api.log')}`,
      `api_pidfile: ${lab.folder('api.pid')}`,
    ];
    // Brine's own has another port.
    const others = master.split('\n').filter((line) => !line.startsWith('rest_cherrypy:'));
    await writeFile(join(configDir, 'master'), `${others.join('\n')}${lines.join('\n')}\n`);
    const process = SaltProcess.start({
      command: lab.venv.python,
      args: [lab.venv.bin('salt-api'), '-c', configDir, '-l', 'warning'],
      env: { ...lab.master.sandbox.env(), PYTHONPATH: packages },
      logFile: lab.folder('salt-api.out'),
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

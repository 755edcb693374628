import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, saltVenv, type SaltVersion } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { loadPauses, until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const BRINE_MINIONS = Array.from({ length: 20 }, (_, index) => `brine-${index}`);
const STOCK: readonly SaltVersion[] = ['3006.26', '3007.13', '3008.2'];
const STOCK_MINIONS = STOCK.flatMap((version) =>
  [1, 2].map((n) => ({ version, id: `s${version}-${n}` })),
);
const ALL = [...BRINE_MINIONS, ...STOCK_MINIONS.map(({ id }) => id)];
const KILLS_PER_SERVICE = sized({ change: 1, release: 5 });
const SERVICES = [
  'req-gateway',
  'worker-pool',
  'runner-pool',
  'publisher',
  'event-bus',
  'job-cache-returner',
  'syndic-relay',
  'http-api',
];

/**
 * A pause between two commands and a bound on those that wait keep real minions able to follow on a
 * slow machine. A main process of Salt 3007 that has publications waiting takes no return of its
 * children meanwhile, and those give up after 30 s (salt/minion.py `_send_req_sync`): the return is
 * lost before it was ever sent.
 */
const PAUSE_BETWEEN_COMMANDS_MS = 1500;
const OPEN_COMMANDS_MAX = 4;
/**
 * On a slow machine five services that die one after the other are away for longer than a peer
 * bridges: a job is sent again for 30 s, and a stock minion gives up a return that no gateway takes
 * within 15 to 30 s. After so long the commands of the deaths before end first.
 */
const DEATHS_IN_A_ROW_MS = 8_000;
const SERVES_AGAIN_TIMEOUT_MS = 60_000;
const COMMAND_MS = 180_000;
/** A stock minion may send a return again up to so much later. */
const LATE_RETURN_MS = 30_000;
/** What a store had in hand when it was killed is given to the next after 30 s. */
const LATE_STORE_MS = 90_000;

/** What is shown of the log of a minion whose return is missing. */
const TELLING = /jid|[Rr]eturn|[Rr]etry|[Tt]im(?:ed? ?out|eout)|ERROR|WARNING|Traceback|Error|auth/;
const LOG_LINES_AFTER = 200;
const MAX_LOG_LINES = 60;

/** A job of the cache, as `jobs.list_job` shows it. */
interface ListedJob {
  readonly Minions?: readonly string[];
  readonly Result?: Record<string, { readonly return?: unknown }>;
}

/** Types commands one after the other until told to stop; each leaves a line per run in a file. */
class CommandStream {
  readonly tokens: string[] = [];
  /** What each command printed, by its token. */
  readonly said = new Map<string, string>();
  readonly #master: BrineMaster;
  readonly #file: string;
  #running = true;
  readonly #done: Promise<void>;

  constructor(master: BrineMaster, file: string) {
    this.#master = master;
    this.#file = file;
    this.#done = this.#run();
  }

  /** Waits until so many commands that were typed from now on have ended. */
  async ends(count: number): Promise<void> {
    const before = this.tokens.length;
    const ended = (): number =>
      this.tokens.slice(before).filter((one) => this.said.has(one)).length;
    await until(`${count} new commands end`, () => ended() >= count, { withinMs: COMMAND_MS });
  }

  /** Waits until a command is on its way. */
  async isBusy(): Promise<void> {
    await until('a command is on its way', () => this.said.size < this.tokens.length);
  }

  /** Waits until all commands that were typed before now have ended: the last kill met no other. */
  async hasRecovered(): Promise<void> {
    const typed = [...this.tokens];
    const ended = (): boolean => typed.every((token) => this.said.has(token));
    await until('the commands of the last kill have ended', ended, { withinMs: COMMAND_MS });
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #run(): Promise<void> {
    const open = new Set<Promise<void>>();
    while (this.#running) {
      if (open.size >= OPEN_COMMANDS_MAX) await Promise.race(open);
      const token = `token-${this.tokens.length}-x`;
      this.tokens.push(token);
      const command = `echo ${token} >> ${this.#file}`;
      const args = ['*', 'cmd.run', command, '-t', '20', '--show-jid'];
      const typed = this.#type(token, args).finally(() => open.delete(typed));
      open.add(typed);
      await loadPauses(PAUSE_BETWEEN_COMMANDS_MS);
    }
    await Promise.all(open);
  }

  async #type(token: string, args: readonly string[]): Promise<void> {
    const { code, stdout, stderr, ms } = await this.#master.brine('salt', args, COMMAND_MS);
    const said = `after ${Math.round(ms)} ms exit ${code}: ${stderr}${stdout}`;
    this.said.set(token, said.replaceAll(/\s+/g, ' ').slice(0, 600));
  }
}

describe('any service may die at any moment', () => {
  let master: BrineMaster;
  let ranFile: string;

  beforeAll(async () => {
    const venvs = await Promise.all(STOCK.map((version) => saltVenv(version)));
    master = await BrineMaster.start({ brine: { workers: 2 } });
    ranFile = join(master.home.configDir, 'ran');
    for (const id of BRINE_MINIONS) await master.startMinion(id);
    for (const { version, id } of STOCK_MINIONS) {
      const venv = venvs[STOCK.indexOf(version)];
      if (venv === undefined) throw new Error(`no Salt ${version}`);
      // Salt's own reconnect times: a stock minion is deaf for up to 11 s after a publisher's
      // death.
      const home = await master.sandbox.minion(id, master.home.retPort, {
        recon_default: 1000,
        recon_max: 10_000,
        log_fmt_console: '%(asctime)s.%(msecs)03d [%(levelname)-8s] %(message)s',
      });
      master.sandbox.startMinion(venv, home);
    }
    await master.acceptKeys(ALL, 180_000);
    await master.waitForMinions(ALL, 240_000);
  });
  afterAll(async () => {
    await master.close();
  });

  it('every job ends complete, none runs twice, no return is lost, one job per command', async () => {
    const stream = new CommandStream(master, ranFile);
    await stream.ends(1);
    for (const name of SERVICES) {
      let since = Date.now();
      for (let round = 0; round < KILLS_PER_SERVICE; round += 1) {
        // A command that two workers were lost to is refused.
        const isLong = Date.now() - since > DEATHS_IN_A_ROW_MS;
        if (name === 'worker-pool' || isLong) await stream.hasRecovered();
        if (isLong) since = Date.now();
        await stream.isBusy();
        const victim = await pick(master, name, round);
        const ms = await killAndWait(master, name, victim);
        report(`kill -9 ${name} #${round + 1}: serves again after ${ms} ms`);
      }
    }
    for (const round of [0, 1]) {
      await stream.hasRecovered();
      await stream.isBusy();
      const victim = await pick(master, 'worker-pool', round);
      process.kill(victim, 'SIGSTOP');
      // The other worker does what this one has in hand.
      await stream.ends(1);
      const ms = await killAndWait(master, 'worker-pool', victim);
      report(`SIGSTOP worker-pool, then kill -9: serves again after ${ms} ms`);
    }
    await stream.stop();
    report(`${stream.tokens.length} commands typed`);
    await expectComplete(master, ranFile, stream);
  }, 1_200_000);
});

/** Pid of a service; of replicas they take turns. */
async function pick(master: BrineMaster, name: string, round: number): Promise<number> {
  const living = (await master.services()).filter((service) => isNamed(service.name, name));
  const service = living[round % living.length];
  if (service?.pid === undefined) throw new Error(`no service ${name}`);
  return service.pid;
}

/** Replicas carry a number behind the service's name. */
function isNamed(instance: string, name: string): boolean {
  return instance === name || instance.startsWith(`${name}-`) || instance.startsWith(`${name}.`);
}

async function killAndWait(master: BrineMaster, name: string, pid: number): Promise<number> {
  const count = (await master.services()).filter((one) => isNamed(one.name, name)).length;
  const startedAt = Date.now();
  process.kill(pid, 'SIGKILL');
  const serving = async (): Promise<boolean> => {
    const services = await master.services();
    const ours = services.filter((one) => isNamed(one.name, name) && one.pid !== pid);
    if (ours.length === count && ours.every((one) => one.ready)) return true;
    throw new Error(JSON.stringify(services));
  };
  await until(`${name} serves again`, serving, { withinMs: SERVES_AGAIN_TIMEOUT_MS });
  return Date.now() - startedAt;
}

async function expectComplete(
  master: BrineMaster,
  ranFile: string,
  stream: CommandStream,
): Promise<void> {
  const { tokens, said } = stream;
  let jids = new Map<string, string[]>();
  let other: string[] = [];
  const ran = (await readFile(ranFile, 'utf8')).split('\n').filter((line) => line !== '');
  const runsOf = (token: string): number => ran.filter((line) => line === token).length;
  const what = (token: string): string =>
    `${token}: jobs ${jids.get(token)?.join(' ')}; ran ${runsOf(token)} times; ` +
    `it said ${said.get(token)}`;
  const oneJobEach = async (): Promise<boolean> => {
    jids = await jidsByToken(master, tokens);
    other = tokens.filter((token) => jids.get(token)?.length !== 1);
    return other.length === 0;
  };
  const options = { withinMs: LATE_STORE_MS };
  await until('each command is one job', oneJobEach, options).catch((cause: unknown) => {
    throw new Error(other.map(what).join('\n'), { cause });
  });
  const wanted = [...ALL].sort();
  for (const token of tokens) {
    const jid = jids.get(token)?.[0] ?? '';
    let returned: string[] = [];
    const returnedAll = async (): Promise<true> => {
      returned = await returnsOf(master, jid);
      expect(returned).toEqual(wanted);
      return true;
    };
    const options = { withinMs: LATE_RETURN_MS };
    await until(`all return ${what(token)}`, returnedAll, options).catch(async (cause) => {
      const missing = wanted.filter((id) => !returned.includes(id));
      const told = await Promise.all(missing.map((id) => logOf(master, id, jid)));
      throw new Error(`no return of ${missing.join(' ')}\n${told.join('\n')}`, { cause });
    });
  }
  for (const token of tokens) {
    expect(runsOf(token), `runs of ${what(token)}`).toBe(wanted.length);
  }
}

/** Job ids by the token in their arguments. */
async function jidsByToken(
  master: BrineMaster,
  tokens: readonly string[],
): Promise<Map<string, string[]>> {
  const args = ['jobs.list_jobs', 'search_function=cmd.run', '--out', 'json'];
  const { stdout } = await master.brine('run', args);
  const jobs = JSON.parse(stdout) as Record<string, { readonly Arguments: readonly unknown[] }>;
  const byToken = new Map<string, string[]>(tokens.map((token) => [token, []]));
  for (const [jid, job] of Object.entries(jobs)) {
    const token = /token-\d+-x/.exec(JSON.stringify(job.Arguments))?.[0];
    if (token !== undefined) byToken.get(token)?.push(jid);
  }
  return byToken;
}

/** Ids that returned so far. */
async function returnsOf(master: BrineMaster, jid: string): Promise<string[]> {
  const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
  const job = JSON.parse(stdout) as ListedJob;
  return Object.keys(job.Result ?? {}).sort();
}

/** What a minion logged about the job and the requests and log-ins of the minute after it. */
async function logOf(master: BrineMaster, id: string, jid: string): Promise<string> {
  const path = join(master.sandbox.keepLogs(), `minion-${id}.log`);
  const lines = (await readFile(path, 'utf8')).split('\n');
  const first = lines.findIndex((line) => line.includes(jid));
  const last = lines.findLastIndex((line) => line.includes(jid));
  if (first < 0) return `${path}: nothing about ${jid}`;
  const telling = lines.slice(first, last + LOG_LINES_AFTER).filter((line) => TELLING.test(line));
  return `${path}:\n${telling.slice(0, MAX_LOG_LINES).join('\n')}`;
}

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}

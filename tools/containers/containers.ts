// Runs infra/compose.yaml for real on a machine without a container registry: npm run containers.
// It needs root, namespaces, 10 GB of disk, mirrors of Debian, npm and PyPI, and about ten minutes.
// The log is containers.log; its last line is `N passed, N failed`. Exit code 2: the log names what
// this machine lacks.
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HostLacksError, missingPrograms } from '@brine/testing/hosts';
import { loadPauses, until } from '@brine/testing/waits';
import { Engine } from './engine.ts';
import { callsIn, failuresAmong, LOAD_LOOP } from './load.ts';
import { LEFT_OUT, makeStandIns } from './stand-ins.ts';
import { StepLog } from './steps.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const MINIONS = ['minion-1', 'minion-2'];
const SERVICES = [
  ...['event-bus', 'job-cache-returner', 'worker-pool', 'runner-pool', 'publisher'],
  ...['req-gateway', 'http-api', 'syndic-relay', 'salt', ...MINIONS],
];
const SCALES = { 'worker-pool': 3, publisher: 2, 'req-gateway': 2 } as const;
const DISK_BYTES = 10 * 1024 ** 3;
const ANSWERS_MS = 180_000;
/** Time of load before the first kill, between kills, and after the last. */
const LOAD_MS = 12_000;
const LOADS = 2;

/** Missing requirements of this machine; empty if it can run containers. */
function lacking(work: string): string[] {
  const programs = ['unshare', 'nsenter', 'pivot_root', 'mount', 'setpriv', 'ip', 'tar', 'perl'];
  const { bavail, bsize } = statfsSync(work);
  return [
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...missingPrograms(programs).map((name) => `the program ${name}`),
    ...(bavail * bsize < DISK_BYTES ? [`10 GB of disk below ${tmpdir()}`] : []),
  ];
}

/** The containers of compose.yaml in an engine. */
class Site {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  compose(...args: string[]): Promise<string> {
    const env = { BUILDKIT_PROGRESS: 'plain', COMPOSE_PARALLEL_LIMIT: '2' };
    return this.#engine.docker(['compose', '-f', '/tree/infra/compose.yaml', ...args], env);
  }

  /** Runs a command of Brine as in the header of compose.yaml. */
  brine(...args: string[]): Promise<string> {
    return this.compose('run', '--rm', '--no-deps', '-T', 'cli', ...args);
  }

  async ids(service: string): Promise<string[]> {
    const out = await this.compose('ps', '-q', service);
    return out.split('\n').filter((line) => line !== '');
  }

  async inspect(id: string, format: string): Promise<string> {
    return (await this.#engine.docker(['inspect', '-f', format, id])).trim();
  }

  /** Resolves when both minions return true. */
  answers(): Promise<true> {
    return until(
      'both minions answer test.ping',
      async () => {
        const out = await this.brine('salt', '--out=json', '--static', '*', 'test.ping');
        const output = JSON.parse(out) as Record<string, unknown>;
        return MINIONS.every((minion) => output[minion] === true);
      },
      { withinMs: ANSWERS_MS },
    );
  }

  /** Resolves when all containers of a service are healthy. */
  async isHealthy(service: string): Promise<void> {
    for (const id of await this.ids(service)) {
      await until(
        `${service} is healthy`,
        async () => (await this.inspect(id, '{{.State.Health.Status}}')) === 'healthy',
        { withinMs: ANSWERS_MS },
      );
    }
  }

  /** Crashes a container from inside, because `docker kill` would count as a manual stop. */
  async crash(service: string): Promise<string> {
    const [id = ''] = await this.ids(service);
    const pid = await this.inspect(id, '{{.State.Pid}}');
    const { code, stderr } = await this.#engine.run(['kill', '-9', pid]);
    if (code !== 0) throw new Error(`${service} (${pid}) was not killed: ${stderr}`);
    await until(
      `${service} runs again`,
      async () => {
        const state = await this.inspect(id, '{{.RestartCount}} {{.State.Health.Status}}');
        return state === '1 healthy';
      },
      { withinMs: ANSWERS_MS },
    );
    return id;
  }

  async startLoad(): Promise<string> {
    const out = await this.compose(
      ...['run', '-d', '-T', '--no-deps', '--entrypoint', 'sh', 'cli', '-c', LOAD_LOOP],
    );
    return out.trim().split('\n').at(-1) ?? '';
  }

  /** Ends a load; returns its output. */
  async endLoad(id: string): Promise<string> {
    await this.#engine.docker(['exec', id, 'touch', '/tmp/stop']);
    await this.#engine.docker(['wait', id]);
    const printed = await this.#engine.docker(['logs', id]);
    // `run` made it, and `down` does not remove such containers.
    await this.#engine.docker(['rm', id]);
    return printed;
  }

  async query(sql: string): Promise<string> {
    const query = ['psql', '-U', 'brine', '-d', 'brine', '-Atc', sql];
    return (await this.compose('exec', '-T', 'postgres', ...query)).trim();
  }

  /** `jid: minions` for each job since a time without all its returns in the job cache. */
  async incompleteJobs(since: string): Promise<string[]> {
    const found = await this.query(
      "SELECT j.jid || ': ' || array_to_string(j.minions, ' ') FROM brine.jobs j" +
        ` WHERE j.published_at >= '${since}' AND 'test.ping' = ANY (j.fun)` +
        ' AND cardinality(j.minions)' +
        ' <> (SELECT count(*) FROM brine.returns r WHERE r.jid = j.jid)',
    );
    return found.split('\n').filter((line) => line !== '');
  }
}

async function runSteps(log: StepLog, engine: Engine, site: Site): Promise<void> {
  const { step, say } = log;
  await step('base images of Debian packages', () => makeStandIns(engine, engine.shared, say));
  await step('images of the services and of two minions', async () => {
    await site.compose('build');
  });
  say(`left out: ${LEFT_OUT.join(', ')}`);
  await step('up', async () => {
    await site.compose('up', '-d', ...SERVICES);
  });
  await step('stock minions of 3008.2 and 3006.26 answer', () => site.answers());
  await step('only loopback reaches the ports of the master', async () => {
    for (const port of ['4505', '4506', '4507']) {
      const at = (await site.compose('port', 'salt', port)).trim();
      if (at !== `127.0.0.1:${port}`) throw new Error(`${port} is at ${at}`);
    }
  });
  await step('more workers, publishers and gateways, and a command leaves them', async () => {
    const scales = Object.entries(SCALES).flatMap(([name, n]) => ['--scale', `${name}=${n}`]);
    await site.compose('up', '-d', '--no-recreate', ...scales, ...SERVICES);
    for (const name of Object.keys(SCALES)) await site.isHealthy(name);
    await site.answers();
    for (const [name, wanted] of Object.entries(SCALES)) {
      const found = (await site.ids(name)).length;
      if (found !== wanted) throw new Error(`${found} of ${name}, and not ${wanted}`);
    }
  });
  // Earlier jobs may lack a return: a minion that has just been accepted may not listen yet.
  const since = await site.query('SELECT now()');
  await step('a worker, a publisher and a gateway are killed under load', () => kills(site, say));
  await step('the job cache has each return of the load', async () => {
    await until('no job lacks a return', async () => {
      const lacking = await site.incompleteJobs(since);
      if (lacking.length > 0) throw new Error(`lacking: ${lacking.join(', ')}`);
      return true;
    });
  });
  await renewals(log, site);
  await step('down', async () => {
    await site.compose('down', '-v');
    const left = await engine.docker(['ps', '-aq']);
    if (left.trim() !== '') throw new Error(`left: ${left}`);
  });
}

/** Kills one replica of each service: no call may fail, since another one runs. */
async function kills(site: Site, say: (line: string) => void): Promise<void> {
  const loads = await Promise.all(Array.from({ length: LOADS }, () => site.startLoad()));
  await loadPauses(LOAD_MS);
  let lastKill = 0;
  for (const service of Object.keys(SCALES)) {
    lastKill = Date.now();
    await site.crash(service);
    say(`${service} was killed and serves again after ${Date.now() - lastKill} ms`);
    await loadPauses(LOAD_MS);
  }
  const calls = (await Promise.all(loads.map((id) => site.endLoad(id)))).flatMap(callsIn);
  const failed = failuresAmong(calls, MINIONS);
  const late = calls.filter(({ endedAt }) => endedAt > lastKill).length;
  say(`${calls.length} calls, ${failed.length} failed, ${late} ended after the last kill`);
  if (late === 0) throw new Error('no call ended after the last kill');
  if (failed.length > 0) throw new Error(`failed: ${JSON.stringify(failed.slice(0, 3))}`);
}

/** Checks that known problems of recreated containers do not return. */
async function renewals({ step }: StepLog, site: Site): Promise<void> {
  await step('certificates are renewed, and NATS reads them', async () => {
    const [nats = ''] = await site.ids('nats');
    await site.compose('run', '--rm', '-T', 'certificates', 'pki', 'renew');
    await site.compose('exec', '-T', 'nats', 'kill', '-HUP', '1');
    await site.answers();
    const state = await site.inspect(nats, '{{.State.Status}} {{.RestartCount}}');
    if (state !== 'running 0') throw new Error(`nats is ${state}`);
  });
  await step('a minion that is made again keeps its key', async () => {
    await site.compose('up', '-d', '--no-deps', '--force-recreate', 'minion-1');
    await site.answers();
    const keys = JSON.parse(await site.brine('key', '--out=json', '-L')) as {
      minions_denied: string[];
    };
    if (keys.minions_denied.length > 0) throw new Error(`denied: ${keys.minions_denied.join()}`);
  });
  await step('minions come back to a balancer that is made again', async () => {
    await site.compose('up', '-d', '--no-deps', '--force-recreate', 'salt');
    await site.answers();
  });
}

async function main(): Promise<number> {
  const log = new StepLog('containers.log');
  const work = mkdtempSync(join(tmpdir(), 'brine-containers-'));
  let engine: Engine | undefined;
  try {
    const lacks = lacking(work);
    if (lacks.length > 0) throw new HostLacksError(`this machine lacks ${lacks.join(', ')}`);
    engine = await log.step('an engine on a host of its own', () => Engine.start(ROOT, work));
    const site = new Site(engine);
    await runSteps(log, engine, site).catch(async (error: unknown) => {
      log.say(await site.compose('ps', '-a').catch(String));
      log.say(await site.compose('logs', '--tail', '40').catch(String));
      throw error;
    });
  } catch (error) {
    if (!(error instanceof HostLacksError)) return log.end() || 1;
    log.say(`not run: ${error.message}`);
    return 2;
  } finally {
    await engine?.stop();
    rmSync(work, { recursive: true, force: true });
  }
  return log.end();
}

process.exitCode = await main();

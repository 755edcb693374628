// Load on the HTTP API: many calls at once, more than there is room for, and one large answer.
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { type Behaviour, minionId, Swarm } from '@brine/swarm';
import { type BrineMaster, freePorts } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { HostGroup } from '@brine/testing/nodes';
import { growsOld, until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PASSWORD = 'shared';
const USERS = ['ann', 'bob'] as const;
/** Minions of many calls. Each call asks three: a simulated one queues 100 answers at most. */
const FEW = 30;
const ASKED = 3;
const LIMIT_MS = 1_800_000;
/** Less than the room for one address, and more than all room. */
const AT_ONCE = 400;
const TOO_MANY = 2_000;
/** Minions of a large answer. */
const MINIONS = Number(
  process.env['BRINE_HTTP_MINIONS'] ?? sized({ change: 2_000, release: 5_000 }),
);
const MINIONS_PER_PROCESS = 2_500;
/** Minions of one host: a process of a test machine may open 20,000 files. */
const HOST_MINIONS_MAX = 12_500;
const HOSTS = Math.ceil(MINIONS / HOST_MINIONS_MAX);
const GROWTH_MAX_MIB = 150;
const KIB_PER_MIB = 1_024;
/** A minion answers within this time, ms: not all at once; 1,250 a second of a large fleet. */
const SPREAD_MS = [1, Math.max(4_000, 0.8 * MINIONS)] as const;
/**
 * Sends of a return, each for 5 to 10 s: three as stock minions up to 5,000. A minion that gives up
 * relies on the gateway, which keeps a return for 120 s.
 */
const RETURN_SENDS = Math.max(3, Math.floor(MINIONS / 1_600));
/** A call waits so long for minions of a busy machine, s: 50 of them a second. */
const TIMEOUT_S = Math.max(60, MINIONS / 50);

let group: HostGroup;
let master: BrineMaster;
let port = 0;
const swarms: Swarm[] = [];
const tokens: string[] = [];

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
  /** From the request until the first byte of the body, and until the last, ms. */
  readonly firstMs: number;
  readonly allMs: number;
}

function ask(
  path: string,
  value: unknown,
  token = '',
  onFirst: () => void = () => undefined,
): Promise<Answer> {
  const text = JSON.stringify(value);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'X-Auth-Token': token,
  };
  const since = performance.now();
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method: 'POST', headers };
    const sent = request(options, (answer) => {
      const chunks: Buffer[] = [];
      let firstMs = 0;
      answer.on('data', (chunk: Buffer) => {
        if (firstMs === 0) {
          firstMs = performance.now() - since;
          onFirst();
        }
        chunks.push(chunk);
      });
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          retryAfter: answer.headers['retry-after'],
          body: Buffer.concat(chunks).toString(),
          firstMs,
          allMs: performance.now() - since,
        }),
      );
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

/** One of many calls; each is by the next user and asks the next minions. */
async function ping(at: number): Promise<Answer> {
  const low = { client: 'local', tgt: asked(at), tgt_type: 'list', fun: 'test.ping' };
  try {
    return await ask('/', [low], tokens[at % tokens.length]);
  } catch (error) {
    // A connection that was reset is no answer, and shows beside the others.
    return { status: 0, retryAfter: undefined, body: String(error), firstMs: 0, allMs: 0 };
  }
}

function asked(at: number): string[] {
  return Array.from({ length: ASKED }, (_, index) => minionId('few-', (at * ASKED + index) % FEW));
}

/** What a whole answer of such a call has. */
function whole(at: number): unknown {
  return { return: [Object.fromEntries(asked(at).map((id) => [id, true]))] };
}

/** Minions log in, an equal share of them at each host. */
async function connect(
  minions: number,
  idPrefix: string,
  hosts: readonly BrineMaster[],
  more: { readonly behaviours?: readonly Behaviour[]; readonly log?: string } = {},
): Promise<readonly Swarm[]> {
  const firstOf = (at: number): number => Math.floor((at * minions) / hosts.length);
  const logIns = hosts.map(async ({ home }, at) => {
    const own = firstOf(at + 1) - firstOf(at);
    const swarm = await Swarm.start({
      host: addressOf(at),
      retPort: home.retPort,
      publishPort: home.publishPort,
      minions: own,
      firstIndex: firstOf(at),
      idPrefix,
      processes: Math.ceil(own / MINIONS_PER_PROCESS),
      returnSends: RETURN_SENDS,
      ...more,
    });
    swarms.push(swarm);
    expect((await swarm.connect()).answered).toBe(own);
    return swarm;
  });
  return Promise.all(logIns);
}

/** An address of its own: 28,000 local ports reach one port of an address. */
function addressOf(host: number): string {
  return `127.0.0.${host + 2}`;
}

beforeAll(async () => {
  [port = 0] = await freePorts(1);
  group = await HostGroup.start();
  for (let at = 0; at < HOSTS; at += 1) {
    await group.add(`host-${at}`, {
      interface: addressOf(at),
      auto_accept: true,
      sharedsecret: PASSWORD,
      timeout: TIMEOUT_S,
      gather_job_timeout: TIMEOUT_S,
      max_open_files: 100_000,
      external_auth: { sharedsecret: Object.fromEntries(USERS.map((user) => [user, ['.*']])) },
      netapi_enable_clients: ['local'],
      // One host serves the API.
      ...(at === 0 && { rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true } }),
    });
  }
  [master] = group.hosts as [BrineMaster];
  await connect(FEW, 'few-', [master]);
  for (const username of USERS) {
    const login = { username, password: PASSWORD, eauth: 'sharedsecret' };
    const { body } = await ask('/login', login);
    tokens.push((JSON.parse(body) as { return: { token: string }[] }).return[0]?.token ?? '');
  }
}, LIMIT_MS);
afterAll(async () => {
  for (const swarm of swarms) await swarm.close();
  await group?.close();
});

it(
  'answers 400 calls of two users at once',
  async () => {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => ping(at)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    for (const [at, { body }] of answers.entries()) expect(JSON.parse(body)).toEqual(whole(at));
    print(`${AT_ONCE} calls at once`, answers);
  },
  LIMIT_MS,
);

it(
  'refuses what is too much with Retry-After, and serves the rest and the next',
  async () => {
    const answers = await Promise.all(Array.from({ length: TOO_MANY }, (_, at) => ping(at)));
    const served = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    for (const [at, { status, body }] of answers.entries()) {
      if (status === 200) expect(JSON.parse(body)).toEqual(whole(at));
    }
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    for (const { retryAfter, body } of refused) {
      expect(Number(retryAfter)).toBeGreaterThan(0);
      expect(body).toContain('503');
    }
    expect(served.length).toBeGreaterThanOrEqual(AT_ONCE);
    const next = await ping(0);
    expect([next.status, JSON.parse(next.body)]).toEqual([200, whole(0)]);
    process.stdout.write(`${TOO_MANY} calls at once: ${served.length} served\n`);
    print('served', served);
    print('refused', refused);
  },
  LIMIT_MS,
);

it(
  `sends the answers of ${MINIONS} minions as they come`,
  async () => {
    const log = join(master.sandbox.dir, 'many.jsonl');
    const behaviours = [{ share: 1, delayMs: SPREAD_MS }];
    const many = await connect(MINIONS, 'many-', group.hosts, { behaviours, log });
    const pid = await servicePid();
    await until('http-api is at rest', async () => (await ping(0)).status === 200);
    const restMib = await pssMib(pid);
    let mostMib = restMib;
    let returned: Promise<number> = Promise.resolve(MINIONS);
    let firstAt = 0;
    const low = { client: 'local', tgt: 'many-*', fun: 'test.ping' };
    const askedAt = Date.now();
    const call = ask('/', [low], tokens[0], () => {
      firstAt = Date.now();
      returned = sentBy(many);
    });
    let isOver = false;
    void call.finally(() => (isOver = true)).catch(() => undefined);
    while (!isOver) {
      mostMib = Math.max(mostMib, await pssMib(pid));
      await growsOld('the last look', 100);
    }
    const { status, body, firstMs, allMs } = await call;
    const sent = await sentTimes(log);
    const before = sent.filter((one) => one <= firstAt).length;
    const firstSentMs = (sent[0] ?? 0) - askedAt;
    const figures = [firstSentMs, firstMs, allMs, restMib, mostMib].map((one) => one.toFixed(0));
    process.stdout.write(
      `${MINIONS} minions: first sent, first byte, all ms; rest, most MiB: ` +
        `${figures.join(', ')}; ${before} sent before the first byte, ${sent.length} in all\n`,
    );
    expect(status).toBe(200);
    const [found = {}] = (JSON.parse(body) as { return: Record<string, unknown>[] }).return;
    const ids = Array.from({ length: MINIONS }, (_, at) => minionId('many-', at));
    expect(Object.keys(found).sort()).toEqual(ids);
    expect(ids.filter((id) => found[id] !== true)).toEqual([]);
    // The answer had begun before all had returned.
    expect(await returned).toBeLessThan(MINIONS);
    expect(mostMib - restMib).toBeLessThan(GROWTH_MAX_MIB);
  },
  LIMIT_MS,
);

async function sentBy(some: readonly Swarm[]): Promise<number> {
  const stats = await Promise.all(some.map((swarm) => swarm.stats()));
  return stats.reduce((sum, { total }) => sum + total.returnsSent, 0);
}

/** When minions sent returns, by their log, in unix ms; the earliest first. */
async function sentTimes(log: string): Promise<readonly number[]> {
  const lines = (await readFile(log, 'utf8')).trim().split('\n');
  const entries = lines.map((line) => JSON.parse(line) as { e: string; t: number });
  const sent = entries.filter(({ e }) => e === 'sent').map(({ t }) => t);
  return sent.sort((a, b) => a - b);
}

async function servicePid(): Promise<number> {
  return (await master.services()).find(({ name }) => name === 'http-api')?.pid ?? 0;
}

async function pssMib(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1]) / KIB_PER_MIB;
}

function print(what: string, answers: readonly Answer[]): void {
  const times = answers.map(({ allMs }) => allMs).sort((a, b) => a - b);
  const at = (share: number): string =>
    (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(0);
  process.stdout.write(`${what}: ${times.length}, p50 ${at(0.5)} ms, last ${at(1)} ms\n`);
}

// Engines of a whole master: a webhook, outputs, and modules of the site, over kills.
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { probeService } from '@brine/service';
import { readState } from '@brine/service/processes';
import { BrineMaster } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FluentPeer, LinePeer, NatsPeer } from './engine-peers.ts';

/** Answers each event of a build by one of its own. */
const MODULE = `
export async function start(engine, options) {
  for await (const event of engine.events({ tags: ['salt/engines/hook/build/*'] })) {
    await engine.fire('site/built', { of: event.tag, note: options.note });
    event.done();
  }
}
`;

/** The same for another event, with types. */
const TYPED = `
interface Seen { readonly tag: string; done(): void }
interface Engine {
  events(wish: { readonly tags: readonly string[] }): AsyncIterable<Seen>;
  fire(tag: string, data: object): Promise<void>;
}
export async function start(engine: Engine): Promise<void> {
  for await (const event of engine.events({ tags: ['salt/engines/hook/typed'] })) {
    await engine.fire('site/typed', { of: event.tag });
    event.done();
  }
}
`;

const FAILS = `export async function start() { throw new Error('no way'); }`;

const HERE = 'here.example';
const GONE = 'gone.example';
const OUT = ['site/*'];
const PATIENT = { withinMs: 90_000 };

interface Engine {
  readonly name: string;
  readonly state: string;
  readonly why?: string;
  readonly pid?: number;
  readonly restarts: number;
  readonly figures: Readonly<Record<string, unknown>>;
}

/** This Node runs modules in TypeScript as they are. */
const HAS_TYPES = (process.features as { readonly typescript?: unknown }).typescript === 'strip';
const STEADY = [
  'webhook',
  'http_logstash',
  'logstash',
  'fluent',
  'chat',
  'nats',
  'mine',
  'stalekey',
];

describe('engines of a whole master', () => {
  let master: BrineMaster;
  let server: Server;
  let lines: LinePeer;
  let fluentd: FluentPeer;
  let nats: NatsPeer;
  const posted: string[] = [];
  let isDown = false;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        if (!isDown) posted.push(`${request.url ?? ''} ${body}`);
        response.writeHead(isDown ? 503 : 200).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    [lines, fluentd, nats] = await Promise.all([
      LinePeer.start(),
      FluentPeer.start(),
      NatsPeer.start('out.>'),
    ]);
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const here = '127.0.0.1';
    master = await BrineMaster.start(
      { brine: { runners: 2 } },
      {
        onHome: async ({ configDir }) => {
          const path = (name: string): string => join(configDir, name);
          await writeFile(path('mine.mjs'), MODULE);
          await writeFile(path('typed.ts'), TYPED);
          await writeFile(path('fails.mjs'), FAILS);
          const body = '{"text": "{{ data.of }} by {{ master }}"}';
          const out = `out.{tag}`;
          const engines = [
            { webhook: { address: here, port: 0 } },
            { http_logstash: { url: `${url}/`, tags: OUT } },
            { logstash: { host: here, port: lines.port, proto: 'tcp', tags: OUT } },
            { fluent: { host: here, port: fluentd.port, app: 'x', tags: OUT } },
            { chat: { engine_module: 'http', url: `${url}/chat`, body, tags: OUT } },
            { nats: { servers: [nats.address], subject: out, jetstream: true, tags: OUT } },
            { kafka: { brokers: [`${here}:9092`] } },
            { mine: { engine_module: path('mine.mjs'), note: 'hello' } },
            { typed: { engine_module: path('typed.ts') } },
            { fails: { engine_module: path('fails.mjs') } },
            { stalekey: { interval: 1, expire: 5 } },
          ];
          await mkdir(join(configDir, 'master.d'), { recursive: true });
          const text = `engines: ${JSON.stringify(engines)}\n`;
          await writeFile(join(configDir, 'master.d', 'engines.conf'), text);
        },
      },
    );
  });
  afterAll(async () => {
    await master?.close();
    await Promise.all([lines?.close(), fluentd?.close(), nats?.close()]);
    await new Promise((resolve) => server.close(resolve));
  });

  /** The engines as the workers that have them tell of them; what `brine status` reads. */
  async function engines(): Promise<Map<string, Engine>> {
    const state = readState(join(master.home.cacheDir, 'brine'));
    const probed = (state?.services ?? []).map((one) => probeService(one, '127.0.0.1'));
    const told = (await Promise.all(probed)).flatMap(({ status }) => {
      return (status?.['engines'] ?? []) as readonly Engine[];
    });
    const mine = told.filter(({ state: engineState }) => engineState !== 'elsewhere');
    return new Map(mine.map((one) => [one.name, one]));
  }

  async function allRun(): Promise<void> {
    await until(
      'all engines run',
      async () => {
        const found = await engines();
        const idle = STEADY.filter((name) => found.get(name)?.state !== 'running');
        return idle.length === 0 && found.get('webhook')?.figures['port'] !== undefined;
      },
      PATIENT,
    );
  }

  async function post(path: string): Promise<number> {
    const port = String((await engines()).get('webhook')?.figures['port']);
    const url = `http://127.0.0.1:${port}/${path}`;
    return (await fetch(url, { method: 'POST', body: '{}' })).status;
  }

  /** An engine without a place misses what comes before it reads, though it says that it runs. */
  async function allRead(): Promise<void> {
    let posts = 0;
    await until(
      'all outputs have something',
      async () => {
        expect(await post(`build/warm-${(posts += 1)}`)).toBe(200);
        const outputs = [lines.lines, fluentd.records, nats.messages].map((all) => all.length);
        const calls = ['/ ', '/chat '].map((path) => posted.some((one) => one.startsWith(path)));
        return outputs.every((count) => count > 0) && calls.every(Boolean);
      },
      PATIENT,
    );
  }

  const noted = (path: string): boolean =>
    posted.some((body) => body.startsWith('/ ') && body.includes(`salt/engines/hook/${path}`));

  it('run, are in the status, and pass an event from one to all outputs', async () => {
    await allRun();
    await allRead();
    expect(await post('build/1')).toBe(200);
    const of = 'salt/engines/hook/build/1';
    const isOf = (one: unknown): boolean => JSON.stringify(one).includes(of);
    const [line, record, message] = [
      await until('it came to logstash', () => lines.lines.find(isOf), PATIENT),
      await until('it came to fluentd', () => fluentd.records.find(isOf), PATIENT),
      await until('it came to NATS', () => nats.messages.find(isOf), PATIENT),
    ];
    await until('it came by HTTP', () => noted('build/1'), PATIENT);
    const chat = `/chat {"text": "${of} by `;
    await until('it came to the chat', () => posted.some((one) => one.startsWith(chat)), PATIENT);
    const data = { of, note: 'hello' };
    const bare = posted.find((body) => body.startsWith('/ ') && isOf(body))!.slice(2);
    expect(JSON.parse(bare)).toMatchObject(data);
    expect(JSON.parse(line)).toMatchObject({ ...data, event_tag: 'site/built' });
    expect(record).toMatchObject(['saltstack.x', data]);
    const [subject, text] = message;
    expect([subject, JSON.parse(text)]).toMatchObject([
      ...['out.site.built', { tag: 'site/built', data }],
    ]);
  });

  it('that do not run say why', async () => {
    const found = await engines();
    expect(found.get('kafka')).toMatchObject({ state: 'refused' });
    expect(found.get('kafka')?.why).toContain('it needs the package @platformatic/kafka');
    await until(
      'it is tried again',
      async () => {
        const fails = (await engines()).get('fails');
        return fails?.why === 'no way' && fails.restarts > 1;
      },
      PATIENT,
    );
    const { stdout } = await master.brine('status', []);
    expect(stdout).toMatch(/engines: .*webhook running.*kafka refused \(it needs/);
    expect(stdout).toMatch(/fails (?:waiting \(no way\)|starting|given up \(no way\))/);
  });

  it('a module in TypeScript runs by its path, or says which Node it needs', async () => {
    if (HAS_TYPES) {
      await until(
        'it runs',
        async () => (await engines()).get('typed')?.state === 'running',
        PATIENT,
      );
      await until(
        'it answered',
        async () => {
          // What is posted before it reads, it misses.
          expect(await post('typed')).toBe(200);
          return posted.some((body) => body.includes('hook/typed'));
        },
        PATIENT,
      );
    } else {
      const typed = (await engines()).get('typed');
      expect(typed).toMatchObject({ state: 'refused' });
      expect(typed?.why).toContain('needs Node 22.18');
    }
  });

  it('stalekey deletes the key of a minion that is away, and no other', async () => {
    await master.startMinion(HERE);
    await master.acceptKeys([HERE]);
    await master.waitForMinions([HERE]);
    const keys = join(master.home.pkiDir, 'minions');
    // One that was accepted once, and is not heard of any more.
    await copyFile(join(keys, HERE), join(keys, GONE));
    await until('its key is deleted', async () => !(await readdir(keys)).includes(GONE), PATIENT);
    expect(await readdir(keys)).toEqual([HERE]);
    await until('it tells so', async () => {
      return (await engines()).get('stalekey')?.figures['known'] === 1;
    });
  });

  it('are started again when their process is killed', async () => {
    const { pid } = (await engines()).get('mine')!;
    process.kill(pid!, 'SIGKILL');
    await until(
      'it runs again',
      async () => {
        const now = (await engines()).get('mine');
        return now?.state === 'running' && now.pid !== pid;
      },
      PATIENT,
    );
    expect(await post('build/2')).toBe(200);
    await until('it came to the output', () => noted('build/2'), PATIENT);
  });

  it('lose no event while the output is down and all workers are killed', async () => {
    isDown = true;
    expect(await post('build/3')).toBe(200);
    await until(
      'it is tried',
      async () => (await engines()).get('http_logstash')?.figures['down'] === 1,
      PATIENT,
    );
    for (const { name, pid } of await master.services()) {
      if (name.startsWith('runner-pool') && pid !== undefined) process.kill(Number(pid), 'SIGKILL');
    }
    isDown = false;
    await allRun();
    await until('it came to the output', () => noted('build/3'), PATIENT);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until as untilWithin } from '@brine/testing/waits';
import { mapOf, pack, unpack } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { MemoryMaster } from '../../test/master.ts';
import type { Plain } from '../engine.ts';
import { readEngines } from '../engine-list.ts';
import { LIMITS } from '../protocol.ts';
import { SupervisedEngine } from './supervised-engine.ts';

// Each engine is a process that loads its sources, which takes long beside load.
vi.setConfig({ testTimeout: 120_000 });

const until = (what: string, check: () => boolean): Promise<unknown> =>
  untilWithin(what, check, { withinMs: 60_000 });

const QUICK_MS = [50, 100, 200];

let dir: string;
let master: MemoryMaster;
let ends: (() => Promise<unknown>)[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-engines-'));
  master = new MemoryMaster();
  ends = [];
});
afterEach(async () => {
  await Promise.all(ends.map((end) => end()));
  rmSync(dir, { recursive: true, force: true });
});

/** Starts the engine of an entry, as the process that has it. */
function started(entry: Plain): {
  readonly engine: SupervisedEngine;
  readonly end: () => Promise<void>;
} {
  const { engines, faults } = readEngines([entry], { hasPython: false, runsTypeScript: false });
  expect(faults).toEqual([]);
  const engine = new SupervisedEngine({
    spec: engines[0]!,
    ports: master.ports,
    restartsMs: QUICK_MS,
  });
  const stop = new AbortController();
  const running = engine.run(master.keeper, stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  ends.push(end);
  return { engine, end };
}

function moduleOf(source: string): { readonly [key: string]: Plain } {
  const path = join(dir, `mine-${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(path, source);
  return { engine_module: path };
}

/** A module that answers each event by one of its own. */
const ECHO = `
export async function start(engine, options) {
  engine.tell({ greeting: options.greeting });
  for await (const event of engine.events({ tags: ['a/*'] })) {
    await engine.fire('echo/' + event.tag, { n: event.data.n, by: engine.name });
    event.done();
  }
}
`;

const tagsFired = (): string[] => master.fired.map(({ tag }) => tag);

describe('a module of the site', () => {
  test('hears events, fires, and goes on where it was', async () => {
    const entry = { mine: { ...moduleOf(ECHO), greeting: 'hello' } };
    const first = started(entry);
    await until('it runs', () => first.engine.status().state === 'running');
    await until('it listens', () => master.record.position !== undefined);
    master.event('a/1', { n: 1 });
    master.event('b/1');
    await until('it answered', () => master.fired.length === 1);
    expect(master.fired[0]).toEqual({ tag: 'echo/a/1', data: { n: 1, by: 'mine' } });
    expect(first.engine.status()).toMatchObject({ fired: 1, figures: { greeting: 'hello' } });
    await first.end();
    expect(first.engine.status().state).toBe('elsewhere');
    // No process runs it meanwhile.
    master.event('a/2', { n: 2 });
    const second = started(entry);
    await until('it answered what came meanwhile', () => master.fired.length === 2);
    expect(tagsFired()).toEqual(['echo/a/1', 'echo/a/2']);
    await second.end();
  });

  test('is started once its process can be spawned, and can be stopped before', async () => {
    const node = process.execPath;
    onTestFinished(() => void (process.execPath = node));
    // The system's error takes the path that it takes where the host has no room for a process.
    process.execPath = '/nonexistent/node';
    const entry = { mine: moduleOf(ECHO) };
    await started(entry).end();
    const { engine } = started(entry);
    await until('it was tried again', () => engine.status().restarts >= 2);
    expect(engine.status().why).toContain('ENOENT');
    process.execPath = node;
    await until('it runs', () => engine.status().state === 'running');
  });

  test('gets an event again that it was not done with when its process died', async () => {
    const entry = {
      mine: moduleOf(`
        export async function start(engine) {
          for await (const event of engine.events()) {
            await engine.fire('saw/' + event.tag, {});
            if (event.tag === 'b' && engine.saved() === null) {
              await engine.save({ died: true });
              process.exit(7);
            }
            event.done();
          }
        }`),
    };
    const { engine } = started(entry);
    await until('it listens', () => master.record.position !== undefined);
    for (const tag of ['a', 'b', 'c']) master.event(tag);
    await until('it went on', () => tagsFired().includes('saw/c'));
    expect(tagsFired().filter((tag) => tag === 'saw/b')).toHaveLength(2);
    expect(tagsFired().indexOf('saw/c')).toBeGreaterThan(tagsFired().lastIndexOf('saw/b'));
    expect(engine.status().restarts).toBe(1);
    expect(master.record.saved).toEqual({ died: true });
  });

  test('goes on over an event that can not be read', async () => {
    const { engine } = started({ mine: moduleOf(ECHO) });
    await until('it listens', () => master.record.position !== undefined);
    // No date has such a time.
    master.event('a/1', { n: 1 }, Number.NaN);
    master.event('a/2', { n: 2 });
    await until('it has done both', () => master.record.position === '2');
    expect(tagsFired()).toEqual(['echo/a/2']);
    expect(engine.status()).toMatchObject({ state: 'running', restarts: 0 });
    expect(master.logged.filter((line) => line.includes('event a/1 was left out'))).toHaveLength(1);
  });

  test('gets an event after an outage, and only a body that is gone is lost', async () => {
    const outage = (): Error => Object.assign(new Error('no answer'), { retryable: true });
    master.bodyErrors.set('a/1', [outage(), outage()]);
    master.bodyErrors.set('a/2', [Object.assign(new Error('gone'), { retryable: false })]);
    const { engine } = started({ mine: moduleOf(ECHO) });
    await until('it listens', () => master.record.position !== undefined);
    for (const n of [1, 2, 3]) master.event(`a/${n}`, { n });
    await until('it came to the last one', () => master.record.position === '3');
    expect(tagsFired()).toEqual(['echo/a/1', 'echo/a/3']);
    expect(engine.status()).toMatchObject({ sent: 2, lost: 1, restarts: 0 });
    expect(master.logged.filter((line) => line.includes('a/1'))).toEqual([
      'warn: engine mine: event a/1 has to wait: no answer',
    ]);
  });

  test('gets an event later that waited for its body when the engine was moved', async () => {
    const outage = Object.assign(new Error('no answer'), { retryable: true });
    master.bodyErrors.set('a/1', Array<Error>(1_000).fill(outage));
    const first = started({ mine: moduleOf(ECHO) });
    await until('it listens', () => master.record.position !== undefined);
    master.event('a/1', { n: 1 });
    await until('it waits', () => master.logged.some((line) => line.includes('has to wait')));
    await first.end();
    expect(master.record.position).toBe('0');
    master.bodyErrors.clear();
    started({ mine: moduleOf(ECHO) });
    await until('it answered', () => tagsFired().includes('echo/a/1'));
  });

  test('that always fails is given up, and harms nothing', async () => {
    const entry = {
      mine: moduleOf("export async function start() { throw new Error('no way'); }"),
    };
    const { engine } = started(entry);
    await until('it is given up', () => engine.status().state === 'given up');
    expect(engine.status().why).toBe('no way');
    expect(master.logged.filter((line) => line.startsWith('error:'))).toHaveLength(1);
  });

  test('that is no engine is refused and not tried again', async () => {
    const { engine } = started({ mine: moduleOf('export const x = 1;') });
    await until('it is refused', () => engine.status().state === 'refused');
    expect(engine.status()).toMatchObject({ restarts: 0 });
    expect(engine.status().why).toContain('exports no function start');
  });

  test('that is done with nothing gets a bounded number of events', async () => {
    const entry = {
      mine: moduleOf(`
        export async function start(engine) {
          let seen = 0;
          for await (const event of engine.events()) {
            seen += 1;
            engine.tell({ seen });
          }
        }`),
    };
    const { engine } = started(entry);
    await until('it listens', () => master.record.position !== undefined);
    for (let n = 0; n < 3 * LIMITS.events; n += 1) master.event(`t/${n}`);
    await until(
      'it has as many as it may',
      () => engine.status().figures['seen'] === LIMITS.events,
    );
    expect(engine.status().inHand).toBe(LIMITS.events);
  });

  test('calls functions of the master, and hears why one failed', async () => {
    master.functions.set('manage.up', () => ['a', 'b']);
    const entry = {
      mine: moduleOf(`
        export async function start(engine) {
          const up = await engine.call('runner', 'manage.up', [], { timeout: 5 });
          const why = await engine.call('wheel', 'no.such').catch((error) => error.message);
          await engine.fire('told', { up, why });
          await new Promise((resolve) => engine.stopping.addEventListener('abort', resolve));
        }`),
    };
    started(entry);
    await until('it told', () => master.fired.length === 1);
    expect(master.fired[0]?.data).toEqual({ up: ['a', 'b'], why: "'no.such' is not available." });
  });

  test('that does not heed the stop is ended', async () => {
    const { engine, end } = started({
      mine: moduleOf('export const start = () => new Promise(() => setInterval(() => 0, 1000));'),
    });
    await until('it runs', () => engine.status().state === 'running');
    await end();
    expect(engine.status().state).toBe('elsewhere');
  });

  test('has no variables with passwords of the services', async () => {
    process.env['BRINE_SECRET_OF_TEST'] = 'x';
    started({
      mine: moduleOf(`
        export async function start(engine) {
          await engine.fire('env', { names: Object.keys(process.env) });
          await new Promise((resolve) => engine.stopping.addEventListener('abort', resolve));
        }`),
    });
    await until('it told', () => master.fired.length === 1);
    delete process.env['BRINE_SECRET_OF_TEST'];
    const names = master.fired[0]?.data['names'] as readonly string[];
    expect(names).toContain('PATH');
    expect(names).not.toContain('BRINE_SECRET_OF_TEST');
  });
});

describe('webhook', () => {
  const listening = async (options: { readonly [key: string]: Plain } = {}): Promise<string> => {
    const { engine } = started({ webhook: { address: '127.0.0.1', port: 0, ...options } });
    await until('it listens', () => engine.status().figures['port'] !== undefined);
    return `http://127.0.0.1:${String(engine.status().figures['port'])}`;
  };

  test('makes an event of each POST, with headers and body', async () => {
    const url = await listening();
    const headers = { 'x-build-id': '7', 'content-type': 'text/plain' };
    const answer = await fetch(`${url}/ci/done%20now?x=1`, { method: 'POST', headers, body: 'ä{' });
    expect(answer.status).toBe(200);
    expect(master.fired).toMatchObject([
      {
        tag: 'salt/engines/hook/ci/done now',
        data: { body: 'ä{', headers: { 'X-Build-Id': '7', 'Content-Type': 'text/plain' } },
      },
    ]);
  });

  test('refuses what is no event', async () => {
    const url = await listening();
    const large = 'x'.repeat(9 * 1024 * 1024);
    const requests: readonly (readonly [string, string, string | undefined, number])[] = [
      ['GET', '/x', undefined, 405],
      ['POST', '/a%0Ab', 'x', 400],
      ['POST', '/%zz', 'x', 400],
      ['POST', `/${'a'.repeat(2_000)}`, 'x', 400],
      ['POST', '/large', large, 413],
    ];
    for (const [method, path, body, status] of requests) {
      const made = { method, ...(body === undefined ? {} : { body }) };
      const answer = await fetch(`${url}${path}`, made);
      expect(answer.status, `${method} ${path.slice(0, 20)}`).toBe(status);
    }
    expect(master.fired).toEqual([]);
  });

  test('refuses a large body without a length too, and then takes the next request', async () => {
    const url = await listening();
    const parts = async function* (): AsyncGenerator<Buffer> {
      for (let n = 0; n < 9; n += 1) yield Buffer.alloc(1024 * 1024, 120);
    };
    const chunked = { method: 'POST', body: ReadableStream.from(parts()), duplex: 'half' } as const;
    expect((await fetch(`${url}/large`, chunked)).status).toBe(413);
    expect((await fetch(`${url}/small`, { method: 'POST', body: 'x' })).status).toBe(200);
    expect(tagsFired()).toEqual(['salt/engines/hook/small']);
  });

  test('an address that has had its share hears 429, and when to come again', async () => {
    const url = await listening();
    const body = 'x'.repeat(8 * 1024 * 1024);
    const statuses: number[] = [];
    let last: Response | undefined;
    for (let n = 0; n < 8 && last?.status !== 429; n += 1) {
      last = await fetch(`${url}/${n}`, { method: 'POST', body });
      statuses.push(last.status);
    }
    expect(statuses.slice(0, 4)).toEqual([200, 200, 200, 200]);
    expect(last?.status).toBe(429);
    expect(last?.headers.get('retry-after')).toBe('10');
    expect(master.fired).toHaveLength(statuses.length - 1);
    await until('it is logged', () => master.logged.some((line) => line.includes('its share')));
  });

  test('one address can not take all connections, nor keep them by sending nothing', async () => {
    const { engine } = started({ webhook: { address: '127.0.0.1', port: 0 } });
    await until('it listens', () => engine.status().figures['port'] !== undefined);
    const port = Number(engine.status().figures['port']);
    let closed = 0;
    const sockets = Array.from({ length: 40 }, (_, n) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      // One that does not read is told nothing of its end.
      socket.resume();
      socket.on('close', () => (closed += 1));
      // Half of them begin a request and never end it.
      if (n % 2 === 0) socket.write('POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nX-');
      return socket;
    });
    onTestFinished(() => void sockets.map((socket) => socket.destroy()));
    const url = `http://127.0.0.1:${port}`;
    const refused = await fetch(`${url}/x`, { method: 'POST', body: 'x' });
    expect(refused.status).toBe(429);
    expect(master.logged.filter((line) => line.includes('connections'))).toHaveLength(1);
    await until('those beyond the limit are closed', () => closed >= 8);
    await until('the slow ones are closed too', () => closed === 40);
    const answer = await fetch(`${url}/x`, { method: 'POST', body: 'x' });
    expect(answer.status).toBe(200);
    await until('it is counted', () => Number(engine.status().figures['crowded']) >= 9);
  });

  test('with a certificate alone is refused', async () => {
    writeFileSync(join(dir, 'crt'), 'x');
    const { engine } = started({ webhook: { ssl_crt: join(dir, 'crt') } });
    await until('it is refused', () => engine.status().state === 'refused');
    expect(engine.status().why).toBe('ssl_crt and ssl_key go together');
  });
});

describe('outputs', () => {
  test('http_logstash posts the data, again while the server fails', async () => {
    const bodies: string[] = [];
    let answers = [503, 200, 400, 200];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        bodies.push((JSON.parse(body) as { n: number }).n.toString());
        const [status = 200, ...rest] = answers;
        answers = rest;
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const { engine } = started({
      http_logstash: { url: `http://127.0.0.1:${port}/x`, tags: ['t/*'], funs: ['test.ping'] },
    });
    await until('it listens', () => master.record.position !== undefined);
    master.event('t/1', { n: 1, fun: 'test.ping' });
    await until('the first one is there', () => bodies.length === 2);
    master.event('t/2', { n: 2 });
    master.event('t/3', { n: 9, fun: 'cmd.run' });
    master.event('u/4', { n: 9 });
    master.event('t/5', { n: 5 });
    await until('all are there', () => engine.status().done === 4);
    expect([...bodies].sort()).toEqual(['1', '1', '2', '5']);
    expect(engine.status().figures).toMatchObject({ taken: 2, refused: 1, retries: 1 });
    await until('its place is kept', () => master.record.position === '5');
  });

  test('http renders templates, and a wrong one is refused', async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        seen.push(`${request.url ?? ''} ${request.headers['x-tag'] as string} ${body}`);
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/{{ data.id }}`;
    const body = "{% if data.act == 'pend' %}{{ {'text': data.id} | tojson }}{% endif %}";
    started({ chat: { engine_module: 'http', url, body, headers: { 'X-Tag': '{{ tag }}' } } });
    await until('it listens', () => master.record.position !== undefined);
    master.event('salt/auth', { id: 'web1', act: 'accept' });
    master.event('salt/auth', { id: 'web2', act: 'pend' });
    await until('it was asked', () => seen.length === 1);
    expect(seen).toEqual(['/web2 salt/auth {"text": "web2"}']);
    const wrong = started({ other: { engine_module: 'http', url, body: '{{ x' } });
    await until('it is refused', () => wrong.engine.status().state === 'refused');
  });

  test('http leaves out an event that makes no request, and goes on', async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers['x-id'] as string);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const url = `{{ data.scheme }}://127.0.0.1:${port}/`;
    const { engine } = started({
      http: { url, body: '{{ tag }}', headers: { 'X-Id': '{{ data.id }}' } },
    });
    await until('it listens', () => master.record.position !== undefined);
    master.event('a', { scheme: 'http', id: 'two\nlines' });
    master.event('b', { scheme: 'http', id: 'not latin: \u4e16' });
    master.event('c', { scheme: 'no scheme', id: '3' });
    master.event('d', { scheme: 'file', id: '4' });
    master.event('e', { scheme: 'http', id: '5' });
    await until('all are done', () => engine.status().done === 5);
    expect(seen).toEqual(['5']);
    expect(engine.status().figures).toMatchObject({ taken: 1, refused: 4, retries: 0 });
  });

  test.each([
    ['a URL that is none', { url: 'example' }],
    ['a header with a wrong name', { url: 'http://127.0.0.1:9', headers: { 'X Y': '1' } }],
  ])('http with %s is refused', async (_what, options) => {
    const { engine } = started({ http: options });
    await until('it is refused', () => engine.status().state === 'refused');
  });

  test('logstash writes lines to a TCP server', async () => {
    let text = '';
    const server = createTcpServer((socket) => {
      socket.on('data', (data) => (text += data.toString()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    started({ logstash: { host: '127.0.0.1', port, proto: 'tcp' } });
    await until('it listens', () => master.record.position !== undefined);
    master.event('a', { fun: 'test.ping' });
    master.event('b');
    await until('two lines came', () => text.split('\n').length === 3);
    const lines = text.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { event_tag: string }).event_tag)).toEqual([
      ...['a', 'b'],
    ]);
  });

  test('fluent is done with an event when the server acknowledged it', async () => {
    const records: unknown[] = [];
    let acks = true;
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data: Buffer) => {
        const [tag, , record, option] = unpack(data) as [
          string,
          number,
          Map<string, unknown>,
          Map<string, string>,
        ];
        records.push(`${tag} ${String(record.get('n'))}`);
        if (acks) socket.write(pack(mapOf({ ack: option.get('chunk') })));
        else socket.destroy();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const { engine } = started({ fluent: { host: '127.0.0.1', port, app: 'x' } });
    await until('it listens', () => master.record.position !== undefined);
    master.event('a', { n: 1 });
    await until('it is done', () => engine.status().done === 1);
    acks = false;
    master.event('b', { n: 2 });
    await until('it was sent twice', () => records.length >= 3);
    expect(engine.status().done).toBe(1);
    acks = true;
    await until('it is done', () => engine.status().done === 2);
    expect(new Set(records)).toEqual(new Set(['saltstack.x 1', 'saltstack.x 2']));
  });
});

describe('kafka', () => {
  test('without its client is refused, and says what it needs', async () => {
    const { engine } = started({ kafka: { brokers: ['127.0.0.1:9092'] } });
    await until('it is refused', () => engine.status().state === 'refused');
    expect(engine.status().why).toContain('it needs the package @platformatic/kafka');
    expect(master.logged.some((line) => /^error: engine kafka ended: it needs/.test(line))).toBe(
      true,
    );
  });
});

describe('stalekey and script', () => {
  test('stalekey deletes the keys of those that were not present for long', async () => {
    const present = ['a'];
    master.functions.set('key.list_all', () => ({ minions: ['a', 'b'], minions_pre: ['c'] }));
    master.functions.set('minions.connected', () => present);
    master.functions.set('key.delete_dict', () => ({}));
    master.record = { position: undefined, saved: { at: 1, seen: { b: 1 } } };
    started({ stalekey: { interval: 3600, expire: 86_400 } });
    await until('it judged', () => master.called.some((call) => call.includes('key.delete_dict')));
    expect(master.called.at(-1)).toBe('wheel key.delete_dict [{"minions":["b"]}]');
    // a is present, and b has no key any more.
    await until('it is kept', () => JSON.stringify(master.record.saved).includes('"seen":{}'));
  });

  test.each([
    ['present', 20_000],
    ['away', 1],
  ])('stalekey judges 20,000 minions that are %s', async (_what, count) => {
    const minions = Array.from({ length: 20_000 }, (_, at) => `minion-${at}.example.com`);
    master.functions.set('key.list_all', () => ({ minions: ['old', ...minions] }));
    master.functions.set('minions.connected', () => minions.slice(0, count));
    master.functions.set('key.delete_dict', () => ({}));
    master.record = { position: undefined, saved: { at: 1, seen: { old: 1 } } };
    const { engine } = started({ stalekey: { interval: 3600, expire: 86_400 } });
    await until('it is kept', () => !JSON.stringify(master.record.saved).includes('"old"'));
    expect(master.called.at(-1)).toBe('wheel key.delete_dict [{"minions":["old"]}]');
    expect(engine.status()).toMatchObject({ state: 'running', figures: { known: 20_000 } });
  });

  test('stalekey deletes nothing while it sees no minion at all', async () => {
    master.functions.set('key.list_all', () => ({ minions: ['a', 'b'] }));
    master.functions.set('minions.connected', () => []);
    master.record = { position: undefined, saved: { at: 1, seen: { a: 1, b: 1 } } };
    started({ stalekey: { interval: 3600, expire: 86_400 } });
    await until('it said so', () => master.logged.some((line) => line.includes('no minion is')));
    await until('it is kept', () => JSON.stringify(master.record.saved).length > 40);
    expect(master.called.some((call) => call.includes('delete'))).toBe(false);
  });

  test('script fires what a command prints, and only what changed where asked', async () => {
    const program = join(dir, 'say.sh');
    const line = '{"tag": "disk/full", "data": {"free": 5}}';
    writeFileSync(program, `#!/bin/sh\necho '${line}'\necho nonsense\n`, { mode: 0o755 });
    const { engine } = started({
      script: { cmd: `${program} -a 1`, interval: 0.1, onchange: true },
    });
    await until('it ran twice', () => Number(engine.status().figures['runs']) > 2);
    expect(master.fired).toEqual([{ tag: 'disk/full', data: { free: 5, id: 'm_master' } }]);
    expect(master.logged.some((text) => text.includes('a line was not made an event'))).toBe(true);
  });
});

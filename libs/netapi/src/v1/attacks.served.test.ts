// Paths, cursors, positions and topics that a hostile peer makes up, at each address of `/v1`.
import type { Bus } from '@brine/bus';
import { endOf } from '@brine/bus/timeline';
import { startNats, type TestNats } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiDocument } from '../../test/api-document.ts';
import { JID, usualAnswer } from '../../test/api-scene.ts';
import { RIGHTS } from '../../test/rights-of-v1.ts';
import { closeScenes, raw, served as servedScene } from '../../test/served-scene.ts';
import { cursorOf } from './cursor.ts';

let nats: TestNats;
let bus: Bus;
let scene: Awaited<ReturnType<typeof served>>;
let document: ApiDocument;
/** Rights of a caller that reaches one of three minions. */
const NARROW = mapOf({
  principal: 'alice',
  acl: [mapOf({ 'web1*': ['.*'] })],
  reach: mapOf({ 'web1*': ['web1'] }),
});

async function served(rights?: SaltMap) {
  const answer = (load: SaltMap) =>
    rights !== undefined && textOf(load, 'cmd') === 'brine_rights' ? rights : usualAnswer(load);
  const made = await servedScene({ bus, answer });
  for (const id of ['db1', 'web1', 'web2']) {
    made.scene.fleet.setKey(id, { state: 'accepted', hasDenied: false });
  }
  return made;
}

beforeAll(async () => {
  nats = await startNats();
  bus = await nats.connect('http-api');
  scene = await served();
  document = JSON.parse((await scene.ask('/v1/openapi.json')).text) as ApiDocument;
}, 600_000);
afterAll(async () => {
  await closeScenes();
  await nats.close();
});

const get = (path: string, headers: Record<string, string> = scene.known) =>
  scene.ask(path, { headers });

/** Sends a path as it is; clients would make another of it. */
async function rawGet(path: string, head = ''): Promise<{ status: number; text: string }> {
  const text = await raw(
    scene.port,
    `GET ${path} HTTP/1.1\r\nHost: x\r\n${head}Connection: close\r\n\r\n`,
  );
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

/** Addresses that have a parameter, with values in their paths. */
function pathsWith(parameter: string): string[] {
  const values: Readonly<Record<string, string>> = { id: 'web1', jid: JID, position: '0' };
  return Object.entries(document.paths).flatMap(([path, methods]) => {
    const has = methods['get']?.parameters?.some((one) => one.name === parameter);
    const { params = {} } = RIGHTS[`GET ${path}`] ?? {};
    const all: Readonly<Record<string, string>> = { ...values, ...params };
    return has ? [path.replaceAll(/\{(\w+)\}/g, (_, name: string) => all[name] ?? 'x')] : [];
  });
}

describe('a path', () => {
  const ODD = [
    '/v1/../v1/me',
    '/v1/./me',
    '/v1/%2e%2e/v1/me',
    '/v1/%2e/me',
    '/v1/x/..%2fme',
    '/v1/x/..%5cme',
    '/v1%2fme',
    '/v1%5cme',
    '/v1\\me',
    '/v1/me%00',
    '/v1/me%00.json',
    '/v1/me;a=b',
    '/v1/%6de%2f',
    '/v1/me/..;/me',
    '/V1/ME',
    '/v1/%',
    '/v1/%zz',
    '/v1/%c0%ae%c0%ae/me',
  ];

  test.each(ODD)('%s leads to nothing, with a log-in or without', async (path) => {
    const before = scene.scene.master.loads.length;
    for (const head of ['', `X-Auth-Token: ${scene.token}\r\n`]) {
      const { status, text } = await rawGet(path, head);
      expect([400, 401, 404], `${path}: ${text.slice(0, 200)}`).toContain(status);
      expect(text).not.toMatch(/root:|"principal"|"private"/);
    }
    const asked = scene.scene.master.loads.slice(before).map((load) => textOf(load, 'cmd'));
    expect(asked.filter((cmd) => cmd !== 'get_token')).toEqual([]);
  });

  test.each([
    '/console/../v1/me',
    '/console/%2e%2e/v1/me',
    '/console/..%2f..%2fpackage.json',
    '/console/..%5c..%5cpackage.json',
    '/console//etc/passwd',
    '/console/%2fetc%2fpasswd',
    '/console/console.js%00',
    '/console/.././../package.json',
    '/console/console.js/../../package.json',
  ])('%s is a page of the console or nothing, with a log-in or without', async (path) => {
    const before = scene.scene.master.loads.length;
    for (const head of ['', `X-Auth-Token: ${scene.token}\r\n`]) {
      const { status, text } = await rawGet(path, head);
      expect([200, 400, 401, 404], `${path}: ${text.slice(0, 200)}`).toContain(status);
      if (status === 200) expect(text).toContain('<div id="root">');
      expect(text).not.toMatch(/root:|"principal"|"private"/);
    }
    expect(scene.scene.master.loads.slice(before)).toEqual([]);
  });

  test.each(['/v1//me', '//v1/me', '/v1/me/', '/v1/%6de'])(
    '%s is the address itself, and needs a log-in as that does',
    async (path) => {
      const known = `X-Auth-Token: ${scene.token}\r\n`;
      expect((await rawGet(path)).status).toBe(401);
      expect((await rawGet(path, known)).status).toBe(200);
      const page = `Origin: http://evil.example\r\nCookie: session_id=${scene.token}\r\n`;
      expect((await rawGet(path, page)).status).toBe(403);
    },
  );

  test('that leads elsewhere by a parameter is the text of that parameter', async () => {
    const before = scene.scene.master.loads.length;
    for (const name of ['..%2f..%2fme', '..%5cme', '%2fetc%2fpasswd', '%2e%2e']) {
      const { status, text } = await rawGet(`/v1/jobs/${name}`, `X-Auth-Token: ${scene.token}\r\n`);
      expect(status, text).toBe(404);
    }
    const loads = scene.scene.master.loads.slice(before).filter(isMap);
    const jids = loads.map((load) => mapIn(load, 'args')?.get('jid')).filter((jid) => jid);
    expect(jids).toEqual(['../../me', '..\\me', '/etc/passwd', '..']);
  });

  test.each([
    ['/console', 'Host: evil.example'],
    ['/console?next=//evil.example', 'Host: x'],
    ['//evil.example/console', 'Host: x'],
    ['/console//evil.example', 'Host: x'],
    ['/console/%2f%2fevil.example/', 'Host: x'],
    ['http://evil.example/console', 'Host: x'],
    ['/console', 'Host: x\r\nX-Forwarded-Host: evil.example'],
    ['/', 'Host: evil.example\r\nAccept: text/html,application/xhtml+xml'],
  ])('leads to no other origin: %s, %s', async (path, head) => {
    const text = await raw(
      scene.port,
      `GET ${path} HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n`,
    );
    const [, location] = /^location: (.*)\r$/im.exec(text) ?? [];
    if (location !== undefined) expect(location).toBe('/console/');
    expect(text.slice(0, 12)).toMatch(/^HTTP\/1\.1 [234]/);
  });
});

describe('a cursor', () => {
  const FORGED: readonly (readonly [string, string])[] = [
    ['of one sign', 'A'],
    ['of 100,000 signs', 'A'.repeat(100_000)],
    ['of bytes', Buffer.from([0xff, 0xfe, 0]).toString('base64url')],
    ['of a number', cursorOf([1])],
    ['of null', cursorOf([null])],
    ['of nothing', cursorOf([])],
    ['of many texts', cursorOf(Array.from({ length: 200 }, () => 'x'))],
    ['of an object', Buffer.from('{"length":1,"0":"x"}').toString('base64url')],
    [
      'of lists in lists',
      Buffer.from(`${'['.repeat(700)}${']'.repeat(700)}`).toString('base64url'),
    ],
    ['of an order that is none', cursorOf(['__proto__', 0, 'x'])],
    ['of a number beyond all', Buffer.from('["id",1e999,"x"]').toString('base64url')],
  ];

  test('is a parameter of several lists', () => {
    expect(pathsWith('after').length).toBeGreaterThan(4);
  });

  test.each(FORGED)('%s is refused by each list, before anything is read', async (_, cursor) => {
    for (const path of pathsWith('after')) {
      const before = scene.scene.master.loads.length;
      const { status, text } = await get(`${path}?after=${cursor}`);
      expect([400, 431], `${path} ${text}`).toContain(status);
      const asked = scene.scene.master.loads.slice(before).map((load) => textOf(load, 'read'));
      // Earlier runs of states are read in the background, once there was a fleet to see.
      const ofPage = asked.filter((read) => read !== undefined && read !== 'past_runs');
      expect(ofPage, path).toEqual([]);
    }
  });

  test('with any bit flipped, or of another list, is no fault', async () => {
    const whole = [cursorOf(['web1']), cursorOf(['id', 0, 'web1']), cursorOf([JID])];
    const flipped = whole.flatMap((one) =>
      Array.from({ length: 24 }, (_, at) => {
        const bytes = Buffer.from(one, 'base64url');
        const byte = at % bytes.length;
        bytes[byte] = (bytes[byte] ?? 0) ^ (1 << (at % 8));
        return bytes.toString('base64url');
      }),
    );
    for (const path of pathsWith('after')) {
      for (const cursor of [...whole, ...flipped]) {
        const { status, text } = await get(`${path}?after=${cursor}`);
        expect([200, 400, 404], `${path} ${cursor} ${text}`).toContain(status);
      }
    }
    expect(scene.scene.faults).toEqual([]);
  }, 60_000);

  test('of a user who sees more shows no more', async () => {
    const { ask, known } = await served(NARROW);
    // The place before all, and that of a minion beyond the caller.
    for (const place of ['', 'db', 'db1']) {
      const path = `/v1/minions?after=${cursorOf(['id', 0, place])}`;
      const { text } = await ask(path, { headers: known });
      const { items, total } = JSON.parse(text) as { items: { id: string }[]; total: number };
      expect({ total, ids: items.map(({ id }) => id) }).toEqual({ total: 1, ids: ['web1'] });
    }
    const keys = await ask(`/v1/keys?after=${cursorOf(['db1'])}`, { headers: known });
    expect(keys.status).toBe(403);
  });
});

describe('a position', () => {
  test('that is forged is refused in a page, a path, a stream and a header', async () => {
    const forged = ['0', 'x'.repeat(100_000), '1-1', '1-1_0', '-1--1_00000000', '1-1_0000000g'];
    const end = await endOf(bus);
    forged.push(`${end}0`, ` ${end}`, `${end}%0a`, `${'9'.repeat(16)}-1_00000000`);
    for (const one of forged) {
      const text = one.includes('%') ? one : encodeURIComponent(one);
      for (const path of [
        `/v1/events?from=${text}`,
        `/v1/events/${text}?stream=events`,
        `/v1/stream?topics=events&from=${text}`,
      ]) {
        const { status, text: answer } = await get(path);
        expect([400, 414, 431], `${path.slice(0, 80)} ${answer}`).toContain(status);
      }
    }
    for (const one of ['0', '1-1_0', 'x'.repeat(10_000)]) {
      const headers = { ...scene.known, 'Last-Event-ID': one };
      expect((await get('/v1/stream?topics=events', headers)).status).toBe(400);
    }
    expect(scene.scene.faults).toEqual([]);
  });

  test('with any bit flipped is refused, or one that is not kept', async () => {
    const end = await endOf(bus);
    for (let at = 0; at < end.length; at += 1) {
      for (const bit of [0, 1, 4]) {
        const bytes = Buffer.from(end, 'latin1');
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        const from = encodeURIComponent(bytes.toString('latin1'));
        const { status, text } = await get(`/v1/events?from=${from}`);
        expect([200, 400, 410], text).toContain(status);
      }
    }
    expect(scene.scene.faults).toEqual([]);
  }, 60_000);
});

describe('topics', () => {
  test.each([
    ['10,000 of them', Array.from({ length: 10_000 }, (_, n) => `job:${n}`).join(',')],
    ['the same one 10,000 times', Array.from({ length: 10_000 }, () => 'jobs').join(',')],
    ['10,000 commas', ','.repeat(10_000)],
    ['seventeen', Array.from({ length: 17 }, (_, n) => `job:${JID.slice(2)}${n + 10}`).join(',')],
  ])('of %s are refused', async (_, topics) => {
    const { status } = await get(`/v1/stream?topics=${topics}`);
    expect([400, 431]).toContain(status);
    expect(scene.scene.followers.stats.followers).toBe(0);
  });

  test.each([
    'events:a%0d%0aX-Evil:%201',
    'jobs%0d%0a%0d%0aevil',
    'job:1%0aid:%20x',
    'events:%00',
    'events:a%0d%0aSet-Cookie:%20session_id=evil',
  ])('put no header and no message of their own into an answer: %s', async (topics) => {
    const gone = new AbortController();
    const url = `${scene.base}/v1/stream?topics=${topics}`;
    const answer = await fetch(url, { headers: scene.known, signal: gone.signal });
    expect(answer.headers.get('x-evil')).toBeNull();
    expect(answer.headers.get('set-cookie') ?? '').not.toContain('evil');
    if (answer.status === 200) {
      const reader = answer.body?.getReader();
      const { value } = (await reader?.read()) ?? {};
      const lines = Buffer.from((value as Uint8Array | undefined) ?? [])
        .toString()
        .split('\n');
      const others = lines.filter((line) => !/^(:|$|(retry|id|event|data): )/.test(line));
      expect(others).toEqual([]);
      expect(lines).not.toContain('id: x');
    } else expect(answer.status).toBe(400);
    gone.abort();
  });
});

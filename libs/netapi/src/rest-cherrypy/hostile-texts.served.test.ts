// Texts that a stranger, a minion or a user chose, in each answer that shows them.
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID, published, usualAnswer } from '../../test/api-scene.ts';
import { closeScenes, lastScene, raw, served } from '../../test/served-scene.ts';

const FULL = { externalAuth: { pam: { alice: ['.*', '@runner', '@wheel'] } } };

afterEach(closeScenes);

const HOSTILE: readonly (readonly [string, string])[] = [
  ['markup', '<img src=x onerror=alert(1)>'],
  ['the end of a page', '</p></body></html><script>alert(1)</script>'],
  ['an entity', '&#60;script&#62;&lt;'],
  ['line ends', 'a\r\nX-Evil: 1\r\n\r\n<html>'],
  ['the end of an event', 'a\n\ndata: {"forged": true}\n\n'],
  ['a field of an event', 'a\rid: 7\revent: x\rretry: 1'],
  ['a name of objects', '__proto__'],
  ['a link', 'javascript:alert(1)'],
  ['NUL and escapes', 'a\u0000\u001b[2J\u0007'],
  ['the other direction', 'a\u202egnp.exe'],
  ['half a pair', 'a\ud800b'],
  ['line ends of Unicode', 'a\u2028b\u2029c\u0085d'],
  ['a template', '{{ 7*7 }}${7*7}{% x %}'],
  ['a very long text', 'A'.repeat(100_000)],
];

/** A text as UTF-8 has it. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

const isPage = (headers: Headers): boolean =>
  headers.get('content-type')?.startsWith('text/html') === true;

/** A page has the tags of an error page and no other. */
function expectPlain(page: string): void {
  const tags = [...page.matchAll(/<([^>]*)>/g)].map(([, tag = '']) => tag);
  expect(new Set(tags)).toEqual(
    new Set([
      ...['!DOCTYPE html', 'html', 'head', 'meta charset="utf-8"', 'title', '/title', '/head'],
      ...['body', 'h2', '/h2', 'p', '/p', 'pre id="traceback"', '/pre', '/body', '/html'],
    ]),
  );
}

describe.each(HOSTILE)('%s', (_, text) => {
  test('in a request is shown as text, and in no header', async () => {
    const { ask, post, known } = await served();
    const path = encodeURIComponent(wellFormed(text)).slice(0, 3_000);
    const low = { client: 'local', tgt: 'x', fun: 'test.ping' };
    const answers = await Promise.all([
      ask(`/${path}`),
      ask(`/?${path}=1`),
      ask(`/login?x=${path}`),
      ask(`/events?token=${path}`, { headers: known }),
      post('/', [{ ...low, client: text }]),
      post('/', [{ ...low, [text]: text }]),
      post('/login', { username: text, password: text, eauth: 'pam' }, {}),
      post('/login', { username: 'x', password: 'x', eauth: text }, {}),
      post('/token', { username: text, password: 'x', eauth: 'pam' }, {}),
      post('/keys', { mid: text, username: 'x', password: 'x', eauth: 'pam' }, {}),
      post('/run', [{ ...low, username: text, password: 'x', eauth: text }], {}),
    ]);
    for (const { headers, text: body, status } of answers) {
      expect(status).toBeLessThan(504);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-evil')).toBeNull();
      if (isPage(headers)) expectPlain(body);
    }
    expect(lastScene()?.faults).toEqual([]);
  });

  test('of a minion is a text of JSON, which no browser takes for a page', async () => {
    // No id has a slash, or half a pair.
    const id = wellFormed(text).replaceAll('/', ':');
    const { post } = await served({
      answer: (load) => {
        if (load.get('cmd') !== 'publish') return usualAnswer(load);
        setImmediate(() => lastScene()?.live.returns(id, mapOf({ os: text, [text]: [text] })));
        return published([id]);
      },
    });
    const low = { client: 'local', tgt: '*', fun: 'grains.items', timeout: 600 };
    for (const answer of [await post('/', [low]), await post('/jobs', [low])]) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      const { return: [minions] = [] } = JSON.parse(answer.text) as {
        return: Record<string, Record<string, unknown>>[];
      };
      const [[shown, grains] = []] = Object.entries(minions ?? {});
      expect(shown).toBe(id);
      expect(wellFormed(String(grains?.['os']))).toBe(wellFormed(text));
    }
  });

  test('in an event is one event for each reader', async () => {
    const { scene, base, known } = await served(FULL);
    const gone = new AbortController();
    const answer = await fetch(`${base}/events`, { headers: known, signal: gone.signal });
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    let stream = '';
    const read = (async () => {
      const decoder = new TextDecoder();
      for await (const part of answer.body ?? []) {
        stream += decoder.decode(part as Uint8Array, { stream: true });
      }
    })();
    read.catch(() => undefined);
    await until('it follows', () => scene.followers.stats.followers === 1);
    scene.live.fire(`site/${text}`, { id: text, user: text, [text]: text });
    scene.live.fire('site/last', {});
    await until('the last came', () => stream.includes('site/last'));
    gone.abort();
    // As a browser reads it: lines end with CR, LF or both.
    const lines = stream.split(/\r\n|\r|\n/);
    const names = lines.filter((line) => line !== '').map((line) => line.split(':', 1)[0]);
    expect(names).toEqual(['retry', 'tag', 'data', 'tag', 'data']);
    const data = JSON.parse(lines.find((line) => line.startsWith('data: '))?.slice(6) ?? '') as {
      readonly tag: string;
    };
    expect(wellFormed(data.tag)).toBe(wellFormed(`site/${text}`));
  });
});

describe('a body that is packed', () => {
  const BOMB = gzipSync(Buffer.alloc(50_000_000, '[')).toString('latin1');

  test.each(['gzip', 'deflate', 'br', 'gzip, gzip', 'identity'])(
    'as %s is not unpacked',
    async (coding) => {
      const { port, scene } = await served();
      const bytes = Buffer.from(BOMB, 'latin1');
      const head =
        'POST /run HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n' +
        `Content-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
      const text = await raw(port, Buffer.concat([Buffer.from(head), bytes]));
      expect(text).toMatch(/^HTTP\/1\.1 4(00|15) /);
      expect(scene.master.loads).toEqual([]);
    },
  );
});

describe('a peer that is gone', () => {
  const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

  test('in the middle of its body leaves no place taken', async () => {
    const { scene, port, token } = await served();
    const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(`${POST}X-Auth-Token: ${token}\r\nContent-Length: 1000\r\n\r\n[`);
    }
    await until('all have a place', () => scene.room.stats.inHand === 20);
    for (const socket of sockets) socket.resetAndDestroy();
    await until('all places are free', () => scene.room.stats.inHand === 0);
    expect(scene.counts.current).toBe(0);
    expect(scene.master.loads).toEqual([]);
  });

  test('in the middle of a long answer leaves nothing that listens', async () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `m${at}`);
    const { scene, port, token } = await served({
      answer: (load) => (load.get('cmd') === 'publish' ? published(ids) : usualAnswer(load)),
    });
    const body = JSON.stringify([{ client: 'local', tgt: '*', fun: 'test.ping', timeout: 600 }]);
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    let text = '';
    socket.on('error', () => undefined).on('data', (part: string) => (text += part));
    socket.write(`${POST}X-Auth-Token: ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await until('the call listens', () => scene.live.listeners.size > 0);
    scene.live.returns('m1', 'x'.repeat(100), JID);
    await until('the answer has begun', () => text.includes('m1'));
    socket.resetAndDestroy();
    await until('the server has noticed', () => scene.counts.current === 0);
    // What it waits for may come late: it has its place until then.
    expect([scene.room.stats.inHand, scene.live.listeners.size]).toEqual([1, 1]);
    let next = 2;
    await until('its place is free', () => {
      scene.live.returns(`m${(next += 1)}`, 1, JID);
      return scene.room.stats.inHand === 0;
    });
    expect(scene.live.listeners.size).toBe(0);
    expect(scene.faults).toEqual([]);
  });
});

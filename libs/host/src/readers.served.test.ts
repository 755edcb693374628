import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventPublisher } from '@brine/ipc';
import { until } from '@brine/testing/waits';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { splitEvent } from '@brine/wire/frames';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Readers } from './readers.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'readers-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Vectors {
  readonly pub_socket: Readonly<
    Record<string, { length_prefixed: boolean; frames: readonly { frame: string }[] }>
  >;
}
const vectors = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/vectors/events.json', import.meta.url), 'utf8'),
) as Vectors;

async function listening(framing: 'bare' | 'prefixed', name: string = framing) {
  const publisher = await EventPublisher.listen({ path: join(dir, name), framing });
  const socket = connect(publisher.path);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await until('the publisher has its reader', () => expect(publisher.readers).toBe(1));
  const close = async (): Promise<void> => {
    socket.destroy();
    await publisher.close();
  };
  return { publisher, bytes: () => Buffer.concat(chunks), close };
}

describe('Readers', () => {
  it.each(Object.entries(vectors.pub_socket))(
    'send, from what came over the wire, what a master of %s sends',
    async (_version, recorded) => {
      const framing = recorded.length_prefixed ? 'prefixed' : 'bare';
      const socket = await listening(framing);
      const zone = !recorded.length_prefixed;
      const only = { publisher: socket.publisher, zone, wakes: false };
      const readers = new Readers([only], 1_048_576);
      const frames = recorded.frames.map(({ frame }) => Buffer.from(frame, 'base64'));
      for (const frame of frames) {
        const map = unpackMap(frame.subarray(recorded.length_prefixed ? 4 : 0));
        const { tag, data } = splitEvent(map.get('body') as Buffer);
        // As a minion packs it: old spec, with text and bytes alike.
        const raw = pack(unpackMap(data));
        readers.fire({ kind: 'local', tag, body: raw, timeMs: 0 });
      }
      const all = Buffer.concat(frames);
      await until('all frames have come', () =>
        expect(socket.bytes().length).toBeGreaterThanOrEqual(all.length),
      );
      expect(socket.bytes().equals(all)).toBe(true);
      await socket.close();
    },
  );

  it('wake a new reader after a return, and only on the socket of the release that sleeps', async () => {
    const [sleepy, others] = [await listening('bare', 'sleepy'), await listening('bare')];
    const readers = new Readers(
      [
        { publisher: sleepy.publisher, zone: false, wakes: true },
        { publisher: others.publisher, zone: true, wakes: false },
      ],
      1_000,
    );
    readers.fireMap('salt/job/20261120171953105574/new', mapOf({ minions: [] }), 0);
    const tag = 'salt/job/20261120171953105574/ret/m';
    readers.fireMap(tag, mapOf({ return: true }), 0);
    const ticks = (bytes: Buffer): number =>
      bytes.toString('latin1').split('brine/tick').length - 1;
    await until('a second tick comes', () => expect(ticks(sleepy.bytes())).toBeGreaterThan(1));
    expect(ticks(others.bytes())).toBe(0);
    await sleepy.close();
    await others.close();
  });

  it('stamp an event by the time it was stored, in the form of the version', async () => {
    const [bare, prefixed] = [await listening('bare'), await listening('prefixed')];
    const sockets = [
      { publisher: bare.publisher, zone: true, wakes: false },
      { publisher: prefixed.publisher, zone: false, wakes: false },
    ];
    const readers = new Readers(sockets, 1_000);
    readers.fireMap('t', mapOf({ a: 1 }), 1_795_195_669_248.257);
    await until('the prefixed frame has come', () =>
      expect(prefixed.bytes().length).toBeGreaterThan(0),
    );
    expect(bare.bytes().toString('latin1')).toContain('2026-11-20T17:27:49.248257+00:00');
    expect(prefixed.bytes().toString('latin1')).toContain('2026-11-20T17:27:49.248257');
    expect(prefixed.bytes().toString('latin1')).not.toContain('+00:00');
    await bare.close();
    await prefixed.close();
  });

  it('count bodies that are no map and go on', async () => {
    const socket = await listening('bare');
    const readers = new Readers([{ publisher: socket.publisher, zone: true, wakes: false }], 1_000);
    readers.fire({ kind: 'minion', tag: 't', body: Buffer.from([0xc1]), timeMs: 0 });
    readers.fire({ kind: 'minion', tag: 't', body: pack(mapOf({})), timeMs: 0 });
    await until('the readable event has come', () =>
      expect(socket.bytes().length).toBeGreaterThan(0),
    );
    expect(readers.stats()).toMatchObject({ fired: 2, unreadable: 1 });
    await socket.close();
  });
});

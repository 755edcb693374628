import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@brine/testing/waits';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { ipcFrame, packEvent, splitEvent } from '@brine/wire/frames';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventClient, fireEvent } from './event-client.ts';
import { EventPublisher } from './event-publisher.ts';
import { EventReceiver } from './event-receiver.ts';
import { checkSocketPath } from './listen.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ipc-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const pub = (): string => join(dir, 'pub.ipc');
const pull = (): string => join(dir, 'pull.ipc');
const event = (tag: string, size = 1): Buffer =>
  packEvent(tag, pack(mapOf({ data: 'x'.repeat(size) }), 'bin'));
const accepted = (publisher: EventPublisher, count: number) =>
  until(`${count} readers are accepted`, () => expect(publisher.readers).toBe(count));

interface Vectors {
  readonly pub_socket: Readonly<
    Record<string, { length_prefixed: boolean; frames: readonly { tag: string; frame: string }[] }>
  >;
  readonly pull_socket_write: { readonly bytes_by_client_version: Record<string, string> };
}
const vectors = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/vectors/events.json', import.meta.url), 'utf8'),
) as Vectors;

describe('frames recorded from real Salt', () => {
  it.each(Object.entries(vectors.pub_socket))('of %s equal those we send', async (_v, recorded) => {
    const framing = recorded.length_prefixed ? 'prefixed' : 'bare';
    await using publisher = await EventPublisher.listen({ path: pub(), framing });
    const socket = connect(pub());
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await accepted(publisher, 1);
    const frames = recorded.frames.map(({ frame }) => Buffer.from(frame, 'base64'));
    const skip = (frame: Buffer): Buffer => frame.subarray(recorded.length_prefixed ? 4 : 0);
    for (const frame of frames) publisher.publish(unpackMap(skip(frame)).get('body') as Buffer);
    const all = Buffer.concat(frames);
    await until('all recorded frames have come', () =>
      expect(Buffer.concat(chunks).length).toBe(all.length),
    );
    expect(Buffer.concat(chunks).equals(all)).toBe(true);
    socket.destroy();
  });

  it.each(Object.entries(vectors.pub_socket))('of %s can be read', async (_v, recorded) => {
    const framing = recorded.length_prefixed ? 'prefixed' : 'bare';
    await using publisher = await EventPublisher.listen({ path: pub(), framing });
    using client = await EventClient.connect({ path: pub() });
    await accepted(publisher, 1);
    for (const { frame } of recorded.frames) publisher.publishFrame(Buffer.from(frame, 'base64'));
    const seen: string[] = [];
    for await (const { tag, data } of client) {
      expect(data.get('_stamp')).toBeTypeOf('string');
      if (seen.push(tag) === recorded.frames.length) break;
    }
    expect(seen).toEqual(recorded.frames.map(({ tag }) => tag));
  });

  it.each(Object.entries(vectors.pull_socket_write.bytes_by_client_version))(
    'written by a client of %s are taken',
    async (_version, base64) => {
      const tags: string[] = [];
      const onEvent = (bytes: Uint8Array): Promise<void> => {
        tags.push(splitEvent(bytes).tag);
        return Promise.resolve();
      };
      await using receiver = await EventReceiver.listen({ path: pull(), onEvent });
      const socket = connect(pull());
      const bytes = Buffer.from(base64, 'base64');
      for (const byte of bytes) socket.write(Buffer.from([byte]));
      socket.end(bytes);
      await until('both events are received', () => expect(tags).toEqual(['my/tag', 'my/tag']));
      expect(receiver.stats()).toMatchObject({ events: 2, badConnections: 0 });
    },
  );
});

describe('EventPublisher', () => {
  it('drops a reader that does not read, and no other', async () => {
    const limits = { maxBufferedBytes: 1_000_000 };
    await using publisher = await EventPublisher.listen({
      path: pub(),
      framing: 'bare',
      ...limits,
    });
    const stuck = connect(pub());
    stuck.pause();
    stuck.on('error', () => undefined);
    using client = await EventClient.connect({ path: pub() });
    await accepted(publisher, 2);
    const seen = (async () => {
      let count = 0;
      for await (const _event of client) if ((count += 1) === 200) return count;
      return count;
    })();
    for (let n = 0; n < 200; n += 1) {
      publisher.publish(event(`t/${n}`, 20_000));
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await seen).toBe(200);
    expect(publisher.stats()).toMatchObject({ droppedReaders: 1, readers: 1, events: 200 });
    stuck.destroy();
  });

  it('ends beside a reader that takes nothing', async () => {
    const publisher = await EventPublisher.listen({ path: pub(), framing: 'bare' });
    const stuck = connect(pub());
    stuck.pause();
    stuck.on('error', () => undefined);
    await accepted(publisher, 1);
    for (let n = 0; n < 200; n += 1) publisher.publish(event(`t/${n}`, 20_000));
    await expect(publisher.close()).resolves.toBeUndefined();
    stuck.destroy();
  });

  it('never waits: 10,000 events go to 20 readers at once', async () => {
    await using publisher = await EventPublisher.listen({ path: pub(), framing: 'bare' });
    const sockets: Socket[] = [];
    let bytes = 0;
    for (let n = 0; n < 20; n += 1) {
      const socket = connect(pub());
      socket.on('data', (chunk) => (bytes += chunk.length));
      sockets.push(socket);
    }
    await accepted(publisher, 20);
    const one = event('salt/job/20261120172803956479/ret/w1', 300);
    for (let n = 0; n < 10_000; n += 1) publisher.publish(one);
    const expected = 20 * 10_000 * ipcFrame(one, 'bare').length;
    await until('every reader has every byte', () => expect(bytes).toBe(expected), {
      withinMs: 30_000,
    });
    for (const socket of sockets) socket.destroy();
  });

  it('sends events of one turn together, in order, and to no reader that came later', async () => {
    await using publisher = await EventPublisher.listen({ path: pub(), framing: 'bare' });
    const early: Buffer[] = [];
    const reader = connect(pub());
    reader.on('data', (chunk: Buffer) => early.push(chunk));
    await accepted(publisher, 1);
    const all = Array.from({ length: 1_000 }, (_, n) => event(`t/${n}`, 100));
    for (const one of all) publisher.publish(one);
    using late = await EventClient.connect({ path: pub() });
    await accepted(publisher, 2);
    publisher.publish(event('last', 100));
    for await (const { tag } of late) {
      expect(tag).toBe('last');
      break;
    }
    const wanted = Buffer.concat([...all, event('last', 100)].map((one) => ipcFrame(one, 'bare')));
    await until('the early reader has every byte', () =>
      expect(Buffer.concat(early).equals(wanted)).toBe(true),
    );
    reader.destroy();
  });

  it('counts the clients that connected before, once it has taken all that arrive', async () => {
    await using publisher = await EventPublisher.listen({ path: pub(), framing: 'bare' });
    const clients = Array.from({ length: 5 }, () => EventClient.connect({ path: pub() }));
    // Connected for themselves, but taken one in a turn.
    const connected = await Promise.all(clients);
    expect(publisher.readers).toBeLessThan(5);
    await publisher.arrivals();
    expect(publisher.readers).toBe(5);
    for (const client of connected) client.close();
  });

  it('refuses readers beyond its limit', async () => {
    const path = pub();
    await using publisher = await EventPublisher.listen({ path, framing: 'bare', maxReaders: 1 });
    using first = await EventClient.connect({ path });
    await accepted(publisher, 1);
    using second = await EventClient.connect({ path });
    await expect(second[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'SALT_IPC_LOST',
    });
    expect(publisher.stats().refusedReaders).toBe(1);
    first.close();
  });

  it('has the mode it is given, replaces the socket of a dead process, and cleans up', async () => {
    writeFileSync(pub(), 'left behind');
    const publisher = await EventPublisher.listen({ path: pub(), framing: 'bare', mode: 0o660 });
    expect(statSync(pub()).mode & 0o777).toBe(0o660);
    await expect(EventPublisher.listen({ path: pub(), framing: 'bare' })).rejects.toMatchObject({
      code: 'SALT_IPC_IN_USE',
    });
    await publisher.close();
    expect(existsSync(pub())).toBe(false);
    await using next = await EventPublisher.listen({ path: pub(), framing: 'bare' });
    expect(statSync(next.path).mode & 0o777).toBe(0o600);
  });
});

describe('EventReceiver', () => {
  it('ends a connection that sends no frames, and goes on', async () => {
    const tags: string[] = [];
    await using receiver = await EventReceiver.listen({
      path: pull(),
      maxFrameBytes: 1_000,
      onEvent: (bytes) => {
        tags.push(splitEvent(bytes).tag);
        return Promise.resolve();
      },
    });
    for (const bad of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.from([0, 0xff, 0, 0])]) {
      const socket = connect(pull());
      socket.write(bad);
      await new Promise((resolve) => socket.once('close', resolve));
    }
    await fireEvent('good', pack(mapOf({ a: 1 }), 'bin'), { path: pull() });
    await until('the good event is received', () => expect(tags).toEqual(['good']));
    expect(receiver.stats().badConnections).toBe(2);
  });

  it('reads no further while events wait to be stored', async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    let taken = 0;
    await using _receiver = await EventReceiver.listen({
      path: pull(),
      onEvent: () => {
        taken += 1;
        return gate;
      },
    });
    const socket = connect(pull());
    for (let n = 0; n < 50; n += 1) socket.write(ipcFrame(event(`t/${n}`), 'prefixed'));
    await until('the first event is taken', () => expect(taken).toBe(1));
    release();
    await until('all 50 events are taken', () => expect(taken).toBe(50));
    socket.destroy();
  });
});

describe('EventClient', () => {
  it('says at once that no process serves the socket', async () => {
    await expect(EventClient.connect({ path: pub() })).rejects.toMatchObject({
      code: 'SALT_IPC_CONNECT',
      retryable: true,
    });
    await expect(fireEvent('t', pack(mapOf({}), 'bin'), { path: pull() })).rejects.toMatchObject({
      code: 'SALT_IPC_CONNECT',
    });
  });

  it('keeps only the events asked for, and reports when the master goes away', async () => {
    const publisher = await EventPublisher.listen({ path: pub(), framing: 'prefixed' });
    using client = await EventClient.connect({
      path: pub(),
      accept: (tag) => tag.startsWith('salt/job/1'),
    });
    await accepted(publisher, 1);
    for (const tag of ['salt/job/2/new', 'salt/job/1/new', 'x']) publisher.publish(event(tag));
    await publisher.close();
    const seen: string[] = [];
    await expect(
      (async () => {
        for await (const { tag } of client) seen.push(tag);
      })(),
    ).rejects.toMatchObject({ code: 'SALT_IPC_LOST' });
    expect(seen).toEqual(['salt/job/1/new']);
  });

  it('ends with an error rather than without memory', async () => {
    await using publisher = await EventPublisher.listen({ path: pub(), framing: 'bare' });
    using client = await EventClient.connect({ path: pub(), maxBufferedBytes: 100_000 });
    await accepted(publisher, 1);
    for (let n = 0; n < 20; n += 1) publisher.publish(event('t', 10_000));
    await expect(
      (async () => {
        await accepted(publisher, 0);
        for await (const _event of client);
      })(),
    ).rejects.toMatchObject({ code: 'SALT_IPC_OVERFLOW' });
  });
});

it('a path that no socket can have is refused in plain words', () => {
  expect(() => checkSocketPath(`/${'x'.repeat(106)}`)).not.toThrow();
  expect(() => checkSocketPath(`/${'x'.repeat(107)}`)).toThrow(/108 bytes.*shorter/);
});

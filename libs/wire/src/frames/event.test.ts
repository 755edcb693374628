import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyMap } from '../../test/values.ts';
import { asVector, b64, vectors } from '../../test/vectors.ts';
import { WireError } from '../errors.ts';
import { unpack } from '../msgpack/decode.ts';
import { pack } from '../msgpack/encode.ts';
import { unpackMap } from '../msgpack/splice.ts';
import { mapOf } from '../value.ts';
import { eventStamp, packEvent, restampEvent, splitEvent, toBinMap } from './event.ts';
import type { IpcFraming } from './ipc.ts';
import { ipcFrame, IpcReader } from './ipc.ts';

interface EventVectors {
  readonly pub_socket: Readonly<
    Record<
      string,
      {
        readonly length_prefixed: boolean;
        readonly frames: readonly {
          readonly tag: string;
          readonly frame: string;
          readonly data: unknown;
        }[];
      }
    >
  >;
  readonly pull_socket_write: {
    readonly event: { readonly tag: string; readonly data: Readonly<Record<string, unknown>> };
    readonly bytes_by_client_version: Readonly<Record<string, string>>;
  };
}

const recorded = vectors<EventVectors>('events');
const syndic = vectors<{
  readonly events_on_upper_bus: readonly {
    readonly tag: string;
    readonly frame: string;
    readonly data: unknown;
  }[];
}>('syndic');
const jobcache = vectors<{
  readonly jobs: Readonly<
    Record<
      string,
      readonly {
        readonly files: Readonly<
          Record<string, { readonly bytes: string; readonly decoded?: unknown }>
        >;
      }[]
    >
  >;
}>('jobcache');
const MAX = 10_000_000;

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
  return undefined;
}

describe('recorded event frames', () => {
  const sockets = [
    ...Object.entries(recorded.pub_socket).map(([version, socket]) => ({ version, ...socket })),
    { version: 'upper 3008.2', length_prefixed: false, frames: syndic.events_on_upper_bus },
  ];

  it.each(sockets)('of $version are read, and written byte for byte', (socket) => {
    const framing: IpcFraming = socket.length_prefixed ? 'prefixed' : 'bare';
    for (const frame of socket.frames) {
      const bytes = b64(frame.frame);
      const [body, ...more] = new IpcReader('auto', MAX).push(bytes);
      expect(more).toEqual([]);
      const { tag, data } = splitEvent(body!);
      expect(tag).toBe(frame.tag);
      expect(asVector(unpack(data))).toEqual(frame.data);
      expect(toBinMap(data)).toEqual(data);
      expect(ipcFrame(packEvent(tag, pack(unpack(data), 'bin')), framing)).toEqual(bytes);
    }
  });

  it.each(sockets)('of $version come whole out of a stream in pieces of any size', (socket) => {
    const stream = Buffer.concat(socket.frames.map((frame) => b64(frame.frame)));
    const wanted = socket.frames.map((frame) => frame.tag);
    for (const size of [1, 2, 3, 5, 7, 64, 1000, stream.length]) {
      const reader = new IpcReader('auto', MAX);
      const tags: string[] = [];
      for (let at = 0; at < stream.length; at += size) {
        for (const body of reader.push(stream.subarray(at, at + size))) {
          tags.push(splitEvent(body).tag);
        }
      }
      expect(tags).toEqual(wanted);
      expect(reader.pending).toBe(0);
      expect(reader.framing).toBe(socket.length_prefixed ? 'prefixed' : 'bare');
    }
  });

  it.each(Object.entries(recorded.pull_socket_write.bytes_by_client_version))(
    'written by a client of %s are understood',
    (_version, text) => {
      const bodies = new IpcReader('auto', MAX).push(b64(text));
      expect(bodies).toHaveLength(1);
      const { tag, data } = splitEvent(bodies[0]!);
      expect(tag).toBe(recorded.pull_socket_write.event.tag);
      expect(asVector(unpack(data))).toMatchObject(recorded.pull_socket_write.event.data);
    },
  );
});

describe('recorded job cache files', () => {
  const files = Object.entries(jobcache.jobs).flatMap(([version, jobs]) =>
    jobs.flatMap((job) =>
      Object.entries(job.files)
        .filter(([name]) => name.endsWith('.p'))
        .map(([name, file]) => ({ version, name, file })),
    ),
  );

  it.each(files)('$name of $version is read, and written byte for byte', ({ file }) => {
    const value = unpack(b64(file.bytes));
    expect(asVector(value)).toEqual(file.decoded);
    expect(pack(value, 'bin')).toEqual(b64(file.bytes));
  });
});

describe('IpcReader', () => {
  it('gives the bodies of any stream in its framing, however it is cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 700 }), { minLength: 1, maxLength: 8 });
    const framings = fc.constantFrom<IpcFraming>('bare', 'prefixed');
    fc.assert(
      fc.property(
        bodies,
        framings,
        fc.array(fc.nat(50)),
        fc.boolean(),
        (list, framing, cuts, auto) => {
          const stream = Buffer.concat(list.map((body) => ipcFrame(body, framing)));
          const reader = new IpcReader(auto ? 'auto' : framing, MAX);
          const got: Buffer[] = [];
          let at = 0;
          for (const cut of cuts) {
            got.push(...reader.push(stream.subarray(at, at + cut)));
            at = Math.min(at + cut, stream.length);
          }
          got.push(...reader.push(stream.subarray(at)));
          expect(got).toEqual(list.map((body) => Buffer.from(body)));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('uses each header of bin at its size', () => {
    for (const size of [0, 255, 256, 65_535, 65_536]) {
      const body = Buffer.alloc(size, 0xfe);
      const frame = ipcFrame(body, 'bare');
      expect(frame).toEqual(pack(mapOf({ head: new Map(), body }), 'bin'));
      expect(new IpcReader('bare', MAX).push(frame)).toEqual([body]);
    }
  });

  it('keeps no more than one frame of the size allowed', () => {
    const frame = ipcFrame(Buffer.alloc(2000), 'bare');
    expect(codeOf(() => new IpcReader('bare', 1000).push(frame))).toBe('SALT_WIRE_SIZE');
    expect(codeOf(() => new IpcReader('bare', 1000).push(frame.subarray(0, 1500)))).toBe(
      'SALT_WIRE_SIZE',
    );
    const prefixed = Buffer.from('7fffffff', 'hex');
    expect(codeOf(() => new IpcReader('prefixed', 1000).push(prefixed))).toBe('SALT_WIRE_SIZE');
  });

  it('ends in a typed error on a stream that is something else', () => {
    expect(codeOf(() => new IpcReader('auto', MAX).push(Buffer.from('GET /')))).toBe(
      'SALT_WIRE_FRAMING',
    );
    expect(codeOf(() => new IpcReader('bare', MAX).push(pack(mapOf({ head: 1 }))))).toBe(
      'SALT_WIRE_FRAMING',
    );
    expect(codeOf(() => new IpcReader('bare', MAX).push(pack(mapOf({ body: 1 }))))).toBe(
      'SALT_WIRE_FRAMING',
    );
    const empty = Buffer.alloc(4);
    expect(codeOf(() => new IpcReader('prefixed', MAX).push(empty))).toBe('SALT_WIRE_TRUNCATED');
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), (bytes) => {
        codeOf(() => new IpcReader('auto', 1000).push(bytes));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('events', () => {
  it('split at the first empty line, whatever follows', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z/0-9.]{1,30}$/), fc.uint8Array(), (tag, data) => {
        expect(splitEvent(packEvent(tag, data))).toEqual({ tag, data: Buffer.from(data) });
      }),
    );
    const odd = Buffer.from('a\n\n\n\nb');
    expect(splitEvent(odd)).toEqual({ tag: 'a', data: Buffer.from('\n\nb') });
  });

  it('need a tag that keeps them apart from their data', () => {
    for (const tag of ['', 'a\n\nb', 'a\n', '\n']) {
      expect(codeOf(() => packEvent(tag, Buffer.alloc(0)))).toBe('SALT_WIRE_VALUE');
    }
    for (const bytes of ['', 'tag', 'tag\n', 'tag\nx\n']) {
      expect(codeOf(() => splitEvent(Buffer.from(bytes)))).toBe('SALT_WIRE_FRAMING');
    }
  });

  it('are packed again with bin types and a stamp, and nothing else changed', () => {
    fc.assert(
      fc.property(anyMap, (map) => {
        const wanted = new Map(map);
        expect(toBinMap(pack(map))).toEqual(pack(map, 'bin'));
        wanted.set('_stamp', '2026-11-20T17:42:39.409296');
        const stamped = restampEvent(pack(map), '2026-11-20T17:42:39.409296');
        expect(stamped).toEqual(pack(wanted, 'bin'));
      }),
      { numRuns: 100 },
    );
    const extra = mapOf({ a: 2, b: Buffer.from([0xff]) });
    expect(unpackMap(toBinMap(pack(mapOf({ a: 1 })), extra))).toEqual(extra);
    expect(codeOf(() => toBinMap(pack('x')))).toBe('SALT_WIRE_TYPE');
  });
});

describe('a stamp', () => {
  it('has six digits after the second, and the zone where a release writes it', () => {
    expect(eventStamp(0, false)).toBe('1970-01-01T00:00:00.000000');
    expect(eventStamp(1.5, true)).toBe('1970-01-01T00:00:00.001500+00:00');
  });

  it('keeps every microsecond of a time of today', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1.7e15, max: 2.5e15 }), (us) => {
        const digits = eventStamp(us / 1_000, false).slice(-6);
        expect(Number(digits)).toBe(us % 1_000_000);
      }),
    );
  });
});

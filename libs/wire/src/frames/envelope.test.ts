import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyMap, anyValue } from '../../test/values.ts';
import { asVector, b64, vectors } from '../../test/vectors.ts';
import { Refusal, RefusalText, WireError } from '../errors.ts';
import { unpack } from '../msgpack/decode.ts';
import { pack } from '../msgpack/encode.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf } from '../value.ts';
import {
  aesEnvelope,
  checkLoad,
  clearEnvelope,
  clearReply,
  isIdName,
  peekEnvelope,
  readEnvelope,
  refusalReply,
  signedReply,
} from './envelope.ts';
import { publicationEnvelope, readPublication } from './publication.ts';

interface Frame {
  readonly name: string;
  readonly request: string;
  readonly request_decoded?: unknown;
  readonly reply: string;
}

const requests = vectors<{
  readonly requests: readonly (Frame & { readonly id: string; readonly version: number })[];
  readonly odd: readonly Frame[];
}>('requests');
const auth = vectors<{ readonly cases: readonly Frame[] }>('auth');
const publish = vectors<{
  readonly clear: readonly Frame[];
  readonly publications_unfiltered: readonly { readonly frames: readonly string[] }[];
}>('publish');

/** The refusal of an action; undefined when it went through; anything else is thrown. */
function refusalOf(action: () => unknown): Refusal | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return undefined;
}

/** The odd frames that a master refuses for their form, before it looks at what is asked. */
const REFUSED = new Set([
  'auth nul id',
  'auth int id',
  'aes v3 no id',
  'aes load map',
  'aes v3 id traversal',
  'not msgpack',
  'empty',
  'list',
  'map',
  'text',
  'clear load text',
  'enc other',
]);

describe('recorded odd frames', () => {
  it.each(requests.odd)('$name is refused, or taken, as by a real master', (frame) => {
    const refusal = refusalOf(() => readEnvelope(b64(frame.request)));
    expect(refusal !== undefined).toBe(REFUSED.has(frame.name));
    if (refusal !== undefined) expect(refusalReply(refusal)).toEqual(b64(frame.reply));
  });
});

describe('recorded clear frames', () => {
  const frames = [...auth.cases, ...publish.clear];

  it.each(frames)('$name is read whole', (frame) => {
    const bytes = b64(frame.request);
    const envelope = readEnvelope(bytes);
    const decoded = frame.request_decoded as { load: { cmd: string }; version: number };
    expect(envelope.enc).toBe('clear');
    if (envelope.enc !== 'clear') return;
    expect(asVector(envelope.load)).toEqual(decoded.load);
    expect(envelope.version).toBe(decoded.version);
    expect(envelope.raw).toEqual(pack(envelope.load));
    expect(clearEnvelope(envelope.load, envelope.version)).toEqual(bytes);
    expect(peekEnvelope(bytes).class).toBe(decoded.load.cmd === '_auth' ? 'auth' : 'clear');
  });
});

describe('recorded sealed frames', () => {
  it.each(requests.requests)('$name is read and written the same', (frame) => {
    const bytes = b64(frame.request);
    const envelope = readEnvelope(bytes);
    if (envelope.enc !== 'aes') throw new Error('not sealed');
    expect(envelope.version).toBe(frame.version);
    expect(envelope.load.length % 16).toBe(0);
    const outer = unpack(bytes) as SaltMap;
    const names = outer.has('enc_algo')
      ? { encAlgo: envelope.encAlgo, sigAlgo: envelope.sigAlgo }
      : {};
    const built = aesEnvelope({
      load: envelope.load,
      version: envelope.version,
      ...(envelope.id === undefined ? {} : { id: envelope.id }),
      ...names,
    });
    expect(asVector(unpack(built))).toEqual(asVector(outer));
    expect(peekEnvelope(bytes)).toEqual(
      envelope.id === undefined ? { class: 'aes' } : { class: 'aes', id: envelope.id },
    );
  });
});

describe('readEnvelope', () => {
  const load = mapOf({ cmd: 'ping' });

  it('gives an envelope or a refusal for any bytes, and so does peekEnvelope', () => {
    const frame = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      anyValue.map((value) => pack(value)),
      fc
        .record(
          { enc: anyValue, load: anyValue, version: anyValue, id: anyValue },
          { requiredKeys: [] },
        )
        .map((fields) => pack(mapOf(fields))),
    );
    fc.assert(
      fc.property(frame, (bytes) => {
        const refusal = refusalOf(() => readEnvelope(bytes));
        if (refusal !== undefined) expect(refusalReply(refusal).length).toBeGreaterThan(0);
        const peeked = refusalOf(() => peekEnvelope(bytes));
        // What cannot be queued could not have been answered either.
        if (peeked !== undefined) expect(refusal?.text).toBe(peeked.text);
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses each recorded frame cut at any place with the text for unreadable bytes', () => {
    for (const frame of [requests.requests[0]!, publish.clear[0]!, auth.cases[0]!]) {
      const bytes = b64(frame.request);
      for (let length = 0; length < bytes.length; length += 1) {
        const refusal = refusalOf(() => readEnvelope(bytes.subarray(0, length)));
        expect(refusal?.text).toBe(RefusalText.ROUTING);
        expect(refusal?.asError).toBe(true);
      }
    }
  });

  it('stands every single changed byte of a frame', () => {
    const bytes = b64(publish.clear[0]!.request);
    for (let at = 0; at < bytes.length; at += 1) {
      for (const byte of [0x00, 0x7f, 0x80, 0x9f, 0xc1, 0xc6, 0xdb, 0xdd, 0xdf, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        refusalOf(() => readEnvelope(changed));
        refusalOf(() => peekEnvelope(changed));
      }
    }
  });

  it('checks the version before the load, for clear requests as well', () => {
    const old = (version: SaltValue | undefined) =>
      refusalOf(() =>
        readEnvelope(pack(mapOf({ enc: 'clear', load: 'x', version })), { minimumAuthVersion: 3 }),
      )?.text;
    for (const version of [undefined, 0, 1, 2, '3', null, [3], -1]) {
      expect(old(version)).toBe(RefusalText.BAD_LOAD);
    }
    expect(old(3)).toBe(RefusalText.LOAD_NOT_A_MAP);
  });

  it('demands an outer id that can be a file name from version 3 on', () => {
    const sealed = (version: number, id?: SaltValue) =>
      refusalOf(() => readEnvelope(pack(mapOf({ enc: 'aes', load: 'blob', version, id }))))?.text;
    for (const id of [undefined, '', '.', '..', 'a/b', '../a', 'a\\b', 'a\0b', 7, null, ['a']]) {
      expect(sealed(3, id)).toBe(RefusalText.BAD_LOAD);
      expect(sealed(2, id)).toBeUndefined();
    }
    expect(sealed(3, Buffer.from([0xff]))).toBe(RefusalText.BAD_LOAD);
    for (const id of ['web1', 'web1.example', 'é', '...', 'a b']) {
      expect(sealed(3, id)).toBeUndefined();
      expect(isIdName(id)).toBe(true);
    }
  });

  it('takes text for a sealed load: binary may happen to be UTF-8', () => {
    const envelope = readEnvelope(pack(mapOf({ enc: 'aes', load: 'text', version: 2 })));
    expect(envelope.load).toEqual(Buffer.from('text'));
    for (const wrong of [null, 1, [], new Map()]) {
      const bytes = pack(mapOf({ enc: 'aes', load: wrong, version: 2 }));
      expect(refusalOf(() => readEnvelope(bytes))?.text).toBe(RefusalText.BAD_LOAD);
    }
  });

  it('says what Python would say of an id that is no text', () => {
    const text = (id: SaltValue) => refusalOf(() => checkLoad(mapOf({ id })))?.text;
    expect(text(7)).toBe('bad load: id 7 is not a string');
    expect(text(null)).toBe('bad load: id None is not a string');
    expect(text(true)).toBe('bad load: id True is not a string');
    expect(text(Buffer.from([0xff]))).toBe("bad load: id b'\\xff' is not a string");
    expect(text('a\0b')).toBe('bad load: id contains a null byte');
    expect(text('web1')).toBeUndefined();
    expect(text(Array.from({ length: 100_000 }, () => 1))?.length).toBeLessThan(250);
    expect(refusalOf(() => checkLoad(undefined))?.text).toBe(RefusalText.LOAD_NOT_A_MAP);
    expect(refusalOf(() => checkLoad(load))).toBeUndefined();
  });

  it('puts an unknown enc behind the checks of the load', () => {
    const of = (enc: SaltValue, inner: SaltValue) =>
      refusalOf(() => readEnvelope(pack(mapOf({ enc, load: inner, version: 3 }))))?.text;
    for (const enc of ['pub', '', null, 7, ['clear'], '__proto__']) {
      expect(of(enc, load)).toBe(RefusalText.HANDLING);
      expect(of(enc, [])).toBe(RefusalText.LOAD_NOT_A_MAP);
    }
  });
});

describe('replies', () => {
  it('in the clear are written as recorded', () => {
    const frame = publish.clear[0]!;
    const reply = unpack(b64(frame.reply)) as SaltMap;
    expect(clearReply(reply.get('load') ?? null)).toEqual(b64(frame.reply));
  });

  it('that are signed are written as recorded', () => {
    for (const frame of auth.cases) {
      const reply = unpack(b64(frame.reply)) as SaltMap;
      const load = reply.get('load');
      const sig = reply.get('sig');
      if (!(sig instanceof Uint8Array)) throw new Error('no signature');
      const signed = typeof load === 'string' ? Buffer.from(load) : (load as Uint8Array);
      expect(signedReply(signed, sig)).toEqual(b64(frame.reply));
    }
  });
});

describe('publications', () => {
  it('are read, and written with the same content', () => {
    for (const { frames } of publish.publications_unfiltered) {
      const bytes = b64(frames[0] ?? '');
      const publication = readPublication(bytes);
      expect(asVector(unpack(publicationEnvelope(publication)))).toEqual(asVector(unpack(bytes)));
      for (let length = 0; length < bytes.length; length += 7) {
        expect(() => readPublication(bytes.subarray(0, length))).toThrow(WireError);
      }
    }
  });

  it('are refused with a typed error when they are something else', () => {
    fc.assert(
      fc.property(anyMap, (map) => {
        expect(() => readPublication(pack(map))).toThrow(WireError);
      }),
      { numRuns: 50 },
    );
    const clear = pack(mapOf({ enc: 'clear', load: 'x' }));
    expect(() => readPublication(clear)).toThrow(WireError);
  });
});

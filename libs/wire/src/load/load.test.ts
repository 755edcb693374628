import { describe, expect, it } from 'vitest';
import type { Parse } from '../../test/hostile.ts';
import { surviveHostile } from '../../test/hostile.ts';
import { asVector, b64, vectors } from '../../test/vectors.ts';
import { WireError } from '../errors.ts';
import { readEnvelope } from '../frames/envelope.ts';
import { unpack } from '../msgpack/decode.ts';
import { pack } from '../msgpack/encode.ts';
import { MapScan, scanMap } from '../msgpack/scan.ts';
import { pyRepr } from '../text/python-repr.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { SaltDatetime } from '../value.ts';
import * as auth from './auth.ts';
import * as file from './file.ts';
import * as mine from './mine.ts';
import * as event from './minion-event.ts';
import * as pillar from './pillar.ts';
import * as publish from './publish.ts';
import * as returns from './return.ts';
import * as syndic from './syndic-return.ts';

interface Recorded {
  readonly name: string;
  readonly cmd: string;
  readonly load: Readonly<Record<string, unknown>>;
}

const sealed = [
  ...vectors<{ readonly requests: readonly Recorded[] }>('requests').requests,
  ...vectors<{ readonly requests: readonly Recorded[] }>('syndic').requests,
];
const logins = vectors<{
  readonly cases: readonly {
    readonly name: string;
    readonly request: string;
    readonly reply: string;
  }[];
}>('auth').cases;
const published = vectors<{
  readonly clear: readonly {
    readonly name: string;
    readonly request: string;
    readonly reply: string;
  }[];
  readonly publications_unfiltered: readonly { readonly load: unknown }[];
  readonly publications_filtered_traced: readonly { readonly load: unknown }[];
}>('publish');

/** A value out of the notation of the recorded `decoded` fields. */
function fromVector(value: unknown): SaltValue {
  if (Array.isArray(value)) return value.map(fromVector);
  if (typeof value !== 'object' || value === null) return value as SaltValue;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === '$b64') return b64(only[1] as string);
  if (entries.length === 1 && only?.[0] === '$datetime') return new SaltDatetime(String(only[1]));
  return new Map(entries.map(([key, item]) => [key, fromVector(item)]));
}

function loads(cmd: string): SaltMap[] {
  return sealed
    .filter((request) => request.cmd === cmd)
    .map((request) => fromVector(request.load) as SaltMap);
}

/** A load without what the channel adds to it. */
function bare(load: SaltMap): SaltMap {
  const copy = new Map(load);
  for (const key of ['nonce', 'ts', 'tok', '_stamp']) copy.delete(key);
  return copy;
}

function sorted(map: SaltMap): SaltMap {
  return new Map([...map].sort(([a], [b]) => (pyRepr(a) < pyRepr(b) ? -1 : 1)));
}

const PARSERS: readonly (readonly [string, Parse])[] = [
  ['_return', returns.parseReturn],
  ['_minion_event', event.parseMinionEvent],
  ['_pillar', pillar.parsePillar],
  ['_mine', mine.parseMine],
  ['_mine_get', mine.parseMineGet],
  ['_serve_file', file.parseServeFile],
  ['_file_recv', file.parseFileReceive],
  ['_file_hash', file.parseFilePath],
  ['_file_find', file.parseFilePath],
  ['_file_list', file.parseFileList],
  ['_syndic_return', syndic.parseSyndicReturn],
];

describe('recorded sealed loads', () => {
  it.each(PARSERS)('of %s are all read', (cmd, parse) => {
    const all = loads(cmd);
    expect(all.length).toBeGreaterThan(0);
    for (const load of all) expect(() => parse(load)).not.toThrow();
  });

  it.each(PARSERS)('of %s survive every field missing or of a wrong type', (cmd, parse) => {
    for (const load of loads(cmd).slice(0, 3)) surviveHostile(parse, load);
  });

  it('are packed and unpacked to the same, and refused cut at any place', () => {
    for (const { load } of sealed) {
      const packed = pack(fromVector(load));
      expect(asVector(unpack(packed))).toEqual(load);
      expect(scanMap(packed)).toBeInstanceOf(MapScan);
      for (let length = 0; length < packed.length; length += 11) {
        expect(() => unpack(packed.subarray(0, length))).toThrow(WireError);
      }
    }
  });
});

describe('built loads are those that were recorded', () => {
  it('of _return', () => {
    for (const load of loads('_return')) {
      const parsed = returns.parseReturn(load);
      expect(sorted(returns.buildReturn(parsed))).toEqual(sorted(load));
    }
  });

  it('of _minion_event, one and several', () => {
    for (const load of loads('_minion_event')) {
      const parsed = event.parseMinionEvent(load);
      if (parsed.kind === 'single') {
        const built = event.buildMinionEvent(parsed.id, parsed.tag, load.get('data') ?? null);
        expect(sorted(built)).toEqual(sorted(bare(load)));
      } else {
        const built = event.buildMinionEvents(parsed.id, parsed.events, parsed.pretag ?? null);
        expect(sorted(built)).toEqual(sorted(bare(load)));
      }
    }
  });

  it('of _pillar, _mine, _serve_file and _syndic_return', () => {
    for (const load of loads('_pillar')) {
      expect(sorted(pillar.buildPillar(pillar.parsePillar(load)))).toEqual(sorted(bare(load)));
    }
    for (const load of loads('_mine')) {
      expect(sorted(mine.buildMine(mine.parseMine(load)))).toEqual(sorted(bare(load)));
    }
    for (const load of loads('_serve_file')) {
      const built = file.buildServeFile(file.parseServeFile(load));
      const wanted = bare(load);
      wanted.delete('id');
      expect(sorted(built)).toEqual(sorted(wanted));
    }
    for (const load of loads('_syndic_return')) {
      const [first] = syndic.parseSyndicReturn(load);
      const built = syndic.buildSyndicReturn(first?.id ?? '', syndic.parseSyndicReturn(load));
      expect(syndic.parseSyndicReturn(built)).toEqual(syndic.parseSyndicReturn(load));
    }
  });

  it('of _auth, byte for byte', () => {
    for (const { request } of logins) {
      const envelope = readEnvelope(b64(request));
      if (envelope.enc !== 'clear') throw new Error('not clear');
      const parsed = auth.parseAuth(envelope.load);
      const built = auth.buildAuth(parsed);
      if (!envelope.load.has('enc_algo')) {
        built.delete('enc_algo');
        built.delete('sig_algo');
      }
      expect(sorted(built)).toEqual(sorted(envelope.load));
      surviveHostile(auth.parseAuth, envelope.load);
    }
  });

  it('of replies to _auth, byte for byte', () => {
    for (const { reply } of logins) {
      const signed = scanMap(b64(reply)).bytes('load') ?? Buffer.alloc(0);
      const answer = auth.parseAuthAnswer(signed);
      if (answer.kind === 'accept') expect(auth.buildAuthAccept(answer.accept)).toEqual(signed);
      else {
        const ret = answer.ret as auth.AuthVerdict;
        expect(auth.buildAuthVerdict(ret, answer.nonce)).toEqual(signed);
      }
      surviveHostile((map) => auth.parseAuthAnswer(pack(map)), unpack(signed) as SaltMap);
    }
  });

  it('of publish', () => {
    for (const { request } of published.clear) {
      const envelope = readEnvelope(b64(request));
      if (envelope.enc !== 'clear' || envelope.load.get('cmd') !== 'publish') continue;
      const built = publish.buildPublish(publish.parsePublish(envelope.load));
      expect(sorted(built)).toEqual(sorted(envelope.load));
      surviveHostile(publish.parsePublish, envelope.load);
    }
  });

  it('of publications', () => {
    const all = [...published.publications_unfiltered, ...published.publications_filtered_traced];
    for (const { load } of all) {
      const map = fromVector(load) as SaltMap;
      const parsed = publish.parsePublishedJob(map);
      expect(sorted(publish.buildPublishedJob(parsed))).toEqual(sorted(map));
      surviveHostile(publish.parsePublishedJob, map);
    }
  });
});

describe('replies to a publish', () => {
  it('are those that were recorded', () => {
    for (const { request, reply } of published.clear) {
      const envelope = readEnvelope(b64(request));
      if (envelope.enc !== 'clear' || envelope.load.get('cmd') !== 'publish') continue;
      const answer = unpack(b64(reply)) as SaltMap;
      const load = answer.get('load');
      if (load instanceof Map) {
        const jid = load.get('jid');
        const error = load.get('error');
        const missing = load.get('missing');
        const built = publish.buildPublishReply({
          jid: typeof jid === 'string' ? jid : null,
          minions: load.get('minions') as string[],
          ...(Array.isArray(missing) ? { missing: missing as string[] } : {}),
          ...(typeof error === 'string' ? { error } : {}),
        });
        expect(pack(built)).toEqual(pack(load));
      } else {
        const error = answer.get('error') as SaltMap;
        const built = publish.buildErrorReply(
          error.get('name') as string,
          error.get('message') as string,
        );
        expect(pack(built)).toEqual(b64(reply));
      }
    }
  });
});

import { createHash } from 'node:crypto';
import type { SaltMap } from '@brine/wire';
import { bytesOf, isMap, scanMap, textOf, unpack } from '@brine/wire';
import { readEnvelope, readPublication } from '@brine/wire/frames';
import {
  parseAuth,
  parseAuthAnswer,
  parsePrivateData,
  parsePrivateReply,
  parseSignedPrivate,
} from '@brine/wire/load';
import { describe, expect, it } from 'vitest';
import { asVector } from '../../wire/test/vectors.ts';
import type { KeyVector } from '../test/vectors.ts';
import { b64, vectors } from '../test/vectors.ts';
import { Crypticle } from './crypticle.ts';
import { normalisePem } from './fingerprint.ts';
import type { EncAlgo, SigAlgo } from './keys.ts';
import { isEncAlgo, isSigAlgo, PrivateKey, PublicKey } from './keys.ts';
import { checkMinionToken, minionToken } from './token.ts';

interface AuthCase {
  readonly name: string;
  readonly state: string;
  readonly minion_key: string;
  readonly request: string;
  readonly reply: string;
  readonly aes_key?: string;
  readonly session_key?: string;
}

interface RequestCase {
  readonly name: string;
  readonly id: string;
  readonly version: number;
  readonly key: string;
  readonly request: string;
  readonly load: unknown;
  readonly reply: string;
  readonly reply_kind: string;
  readonly reply_load: unknown;
  readonly pillar_key?: string;
}

interface PublicationCase {
  readonly frames: readonly string[];
  readonly aes_key: string;
  readonly load: unknown;
}

const auth = vectors<{
  readonly master_key: KeyVector;
  readonly minion_keys: Readonly<Record<string, KeyVector>>;
  readonly cases: readonly AuthCase[];
}>('auth');
const requests = vectors<{
  readonly master_pub: string;
  readonly minion_keys: Readonly<Record<string, KeyVector>>;
  readonly requests: readonly RequestCase[];
}>('requests');
const publish = vectors<{
  readonly master_pub: string;
  readonly filtered_master_pub: string;
  readonly publications_unfiltered: readonly PublicationCase[];
  readonly publications_filtered_traced: readonly PublicationCase[];
}>('publish');
const syndic = vectors<{
  readonly syndic_key: KeyVector;
  readonly upper_master_pub: string;
  readonly requests: readonly RequestCase[];
  readonly publications: readonly PublicationCase[];
}>('syndic');

function encAlgo(name: string): EncAlgo {
  if (!isEncAlgo(name)) throw new Error(name);
  return name;
}

function sigAlgo(name: string): SigAlgo {
  if (!isSigAlgo(name)) throw new Error(name);
  return name;
}

function mapOfBytes(bytes: Uint8Array | undefined): SaltMap {
  const value = unpack(bytes ?? Buffer.alloc(0));
  if (!isMap(value)) throw new Error('no map');
  return value;
}

/** The answer without what differs per run: the decoded `_auth` reply, its signature checked. */
function signedPart(reply: Buffer, algo: SigAlgo): Buffer {
  const scan = scanMap(reply);
  const load = scan.bytes('load') ?? Buffer.alloc(0);
  const sig = scan.bytes('sig') ?? Buffer.alloc(0);
  const master = PublicKey.parse(auth.master_key.pub);
  expect(master.verify(load, sig, algo)).toBe(true);
  expect(PrivateKey.parse(auth.master_key.pem).sign(load, algo)).toEqual(sig);
  return load;
}

describe('recorded log-ins', () => {
  const master = PrivateKey.parse(auth.master_key.pem);

  it.each(auth.cases)('$name: request, signature and sealed keys are understood', (vector) => {
    const envelope = readEnvelope(b64(vector.request));
    if (envelope.enc !== 'clear') throw new Error('not clear');
    const request = parseAuth(envelope.load);
    const answer = parseAuthAnswer(signedPart(b64(vector.reply), sigAlgo(request.sigAlgo)));
    if (answer.kind === 'verdict') {
      expect(answer.nonce).toBe(request.nonce);
      expect(vector.aes_key).toBeUndefined();
      return;
    }
    const { accept } = answer;
    const minion = PrivateKey.parse(auth.minion_keys[vector.minion_key]!.pem);
    const algo = encAlgo(request.encAlgo);
    expect(normalisePem(request.pub)).toBe(normalisePem(minion.publicKey.pem));
    expect(accept.nonce).toBe(request.nonce);
    expect(normalisePem(accept.pubKey)).toBe(normalisePem(master.publicKey.pem));
    const aes = minion.oaepDecrypt(accept.aes, algo).toString('latin1');
    expect(aes).toBe(vector.aes_key);
    expect(minion.oaepDecrypt(accept.session, algo).toString('latin1')).toBe(vector.session_key);
    const digest = Buffer.from(createHash('sha256').update(aes).digest('hex'));
    expect(master.publicKey.x931Recover(accept.sig)).toEqual(digest);
    expect(master.x931Encrypt(digest)).toEqual(accept.sig);
    expect(accept.token === undefined).toBe(request.token === undefined);
    if (request.token !== undefined && accept.token !== undefined) {
      const token = master.oaepDecrypt(request.token, algo);
      expect(minion.oaepDecrypt(accept.token, algo)).toEqual(token);
      expect(() => new Crypticle(token.toString('latin1'))).not.toThrow();
    }
  });
});

describe('recorded sealed requests', () => {
  const minions: Readonly<Record<string, KeyVector>> = {
    ...requests.minion_keys,
    syn1: syndic.syndic_key,
  };
  const all = [
    ...requests.requests.map((vector) => ({ ...vector, master: requests.master_pub })),
    ...syndic.requests.map((vector) => ({ ...vector, master: syndic.upper_master_pub })),
  ];

  it.each(all)('$name ($id): load, token and reply open', (vector) => {
    const envelope = readEnvelope(b64(vector.request));
    if (envelope.enc !== 'aes') throw new Error('not sealed');
    const box = new Crypticle(vector.key);
    const load = mapOfBytes(box.open(envelope.load));
    expect(asVector(load)).toEqual(vector.load);
    expect(envelope.version).toBe(vector.version);
    if (vector.version >= 3) expect(envelope.id).toBe(vector.id);
    const tok = bytesOf(load, 'tok');
    if (tok !== undefined) {
      const pair = minions[vector.id]!;
      expect(checkMinionToken(PublicKey.parse(pair.pub), tok)).toBe(true);
      expect(minionToken(PrivateKey.parse(pair.pem))).toEqual(tok);
    }
    const nonce = textOf(load, 'nonce') ?? '';
    if (vector.reply_kind === 'sealed') {
      const blob = unpack(b64(vector.reply));
      if (!(blob instanceof Uint8Array)) throw new Error('reply is no blob');
      const body = box.openReply(blob, nonce);
      expect(asVector(unpack(body ?? Buffer.alloc(0)))).toEqual(vector.reply_load);
      return;
    }
    const reply = parsePrivateReply(b64(vector.reply));
    const minion = PrivateKey.parse(minions[vector.id]!.pem);
    const key = minion.oaepDecrypt(reply.key, encAlgo(envelope.encAlgo)).toString('latin1');
    expect(key).toBe(vector.pillar_key);
    const signed = parseSignedPrivate(new Crypticle(key).open(reply.pillar) ?? Buffer.alloc(0));
    const master = PublicKey.parse(vector.master);
    expect(master.verify(signed.data, signed.sig, sigAlgo(envelope.sigAlgo))).toBe(true);
    const data = parsePrivateData(signed.data);
    expect(data.nonce).toBe(nonce);
    expect(Buffer.from(data.key)).toEqual(Buffer.from(reply.key));
    expect(asVector(unpack(signed.data))).toEqual(vector.reply_load);
  });
});

describe('recorded publications', () => {
  const all = [
    ...publish.publications_unfiltered.map((vector) => ({ vector, pub: publish.master_pub })),
    ...publish.publications_filtered_traced.map((vector) => ({
      vector,
      pub: publish.filtered_master_pub,
    })),
    ...syndic.publications.map((vector) => ({ vector, pub: syndic.upper_master_pub })),
  ];

  it.each(all)('opens and verifies ($#)', ({ vector, pub }) => {
    const frame = b64(vector.frames[vector.frames.length - 1] ?? '');
    const publication = readPublication(frame);
    const box = new Crypticle(vector.aes_key);
    const body = box.open(publication.load) ?? Buffer.alloc(0);
    expect(asVector(unpack(body))).toEqual(vector.load);
    const { sig, sigAlgo: algo } = publication;
    expect(PublicKey.parse(pub).verify(publication.load, sig!, sigAlgo(algo!))).toBe(true);
    const iv = publication.load.subarray(0, 16);
    expect(box.seal(body, { iv })).toEqual(Buffer.from(publication.load));
  });
});

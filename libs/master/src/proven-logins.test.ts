import { Crypticle, PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { clearEnvelope, DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';
import { buildAuth } from '@brine/wire/load';
import { beforeEach, describe, expect, it } from 'vitest';
import { Answerer } from './answer.ts';
import { ProvenLogIns } from './proven-logins.ts';

interface RequestVector {
  readonly version: number;
  readonly id: string;
  readonly cmd: string;
  readonly key: string;
  readonly request: string;
}
const vectors = vectorFile<{
  readonly minion_keys: Record<string, { readonly pem: string; readonly pub: string }>;
  readonly requests: readonly RequestVector[];
}>('requests.json');
const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);

const sealed = vectors.requests.find(({ version, cmd }) => version === 3 && cmd === '_return')!;
const { id } = sealed;
const pub = vectors.minion_keys[id]!.pub.trim();
const HOUR = 3_600_000;

let made: MemoryMaster;
let answerer: Answerer;
beforeEach(() => {
  made = memoryMaster({ masterKey });
  made.setKey(id, { state: 'accepted', pub, denied: [] });
  made.sessions.set(id, new Crypticle(sealed.key));
  answerer = new Answerer(made.ports, (fault) => {
    throw fault;
  });
});

const send = (body: Buffer) => answerer.answer({ id: 'r', body, gatewayHost: 'h' });
const logIn = (offered = pub) =>
  send(
    clearEnvelope(
      buildAuth({
        id,
        nonce: '0'.repeat(32),
        pub: offered,
        encAlgo: DEFAULT_ENC_ALGO,
        sigAlgo: DEFAULT_SIG_ALGO,
      }),
    ),
  );
const request = () => send(Buffer.from(sealed.request, 'base64'));

describe('a log-in', () => {
  it('with a known key is unproven until a request is sealed with what it was given', async () => {
    await logIn();
    expect(made.unlimited).toEqual([]);
    expect(made.audited).toMatchObject([{ outcome: 'accept', claimed: id, proof: 'unproven' }]);
    await request();
    await request();
    expect(made.unlimited).toMatchObject([
      { kind: 'login', outcome: 'accept', principal: id, proof: 'sealed request', version: 3 },
    ]);
  });

  it('that was refused is proven by nothing', async () => {
    await logIn(masterKey.publicKey.pem);
    await request();
    expect(made.unlimited).toEqual([]);
  });

  it('that others begin in its name does not make each of its requests a row', () => {
    const logIns = new ProvenLogIns();
    const proofs = Array.from({ length: 100 }, (_, n) => {
      logIns.began('web1');
      return logIns.proves('web1', 3, n * 1000);
    });
    expect(proofs.filter(Boolean)).toHaveLength(1);
    logIns.began('web1');
    expect(logIns.proves('web1', 2, 100_000)).toBe(true);
    logIns.began('web1');
    expect(logIns.proves('web1', 2, 100_000 + HOUR)).toBe(true);
    expect(logIns.proves('web2', 3, 0)).toBe(false);
  });
});

import { ConfigError, parseConfigText } from '@brine/config';
import { Crypticle, minionToken, newKeyString, PrivateKey } from '@brine/crypt';
import { firedTag, isMinionId, parseTag } from '@brine/job';
import { Answerer, MasterUnavailableError } from '@brine/master';
import { checkMinions, WorkError } from '@brine/target';
import { memoryMaster, seedFrames } from '@brine/testing';
import { mapOf, pack, Refusal, scanMap, unpack, WireError } from '@brine/wire';
import { readEnvelope } from '@brine/wire/frames';

/** Code that reads data of strangers. */
export interface Target {
  readonly name: string;
  readonly seeds: () => Buffer[];
  /** Rejects if these bytes cause a failure. */
  readonly run: (bytes: Buffer) => Promise<void>;
}

const MINION = 'web1';
const masterKey = await PrivateKey.generate(2048);
const minionKey = await PrivateKey.generate(2048);
const session = new Crypticle(newKeyString());
const text = (bytes: Buffer): string => bytes.toString('utf8');

/** A master without memory of inputs, so that their number does not grow the heap. */
function answerer(): Answerer {
  const master = memoryMaster({ masterKey, rules: { minimumAuthVersion: 0, maxPendingKeys: 100 } });
  master.setKey(MINION, { state: 'accepted', pub: minionKey.publicKey.pem.trim(), denied: [] });
  master.sessions.set(MINION, session);
  return new Answerer(master.ports, (fault) => {
    // No fault: the request stays unanswered, and its gateway sends it again.
    if (fault instanceof MasterUnavailableError) return;
    throw fault instanceof Error ? fault : new Error(String(fault));
  });
}
let current = answerer();
let answered = 0;
async function answer(body: Buffer): Promise<void> {
  answered += 1;
  if (answered % 500 === 0) current = answerer();
  await current.answer({ id: `r${answered}`, body, gatewayHost: 'h' });
}

/** Errors that are valid answers: they refuse the input. */
const expecting =
  (run: (bytes: Buffer) => void, ...kinds: readonly (new (...args: never[]) => Error)[]) =>
  async (bytes: Buffer): Promise<void> => {
    try {
      run(bytes);
    } catch (error) {
      if (!kinds.some((kind) => error instanceof kind)) throw error;
    }
  };

const TAGS = [
  'salt/job/20261122080000123456/ret/web1',
  'salt/auth',
  'salt/run/20261122080000123456/new',
  'syndic/s1/salt/key',
  'salt/minion/web1/start',
  'salt/beacon/web1/load/',
];
const TARGET_TEXTS = [
  'web*',
  'G@os:Debian and not E@web\\d+ or ( L@a,b and S@10.0.0.0/8 )',
  'I@role:web:*',
  'web[1-9].example',
  'P@os:(Debian|Ubuntu)',
  'N@group1 and J@a:b:^x.*$',
  '(a|b)+c{2,5}[^d]',
];
const TYPES = ['glob', 'compound', 'pcre', 'list', 'grain', 'grain_pcre', 'pillar', 'ipcidr'];
const YAMLS = [
  'interface: 0.0.0.0\nfile_roots:\n  base:\n    - /srv/salt\n',
  'nodegroups:\n  g: "L@a,b"\n# comment\nx: &a [1, 2]\ny: *a\n',
  'peer:\n  .*:\n    - test.*\nz: |\n  text\n  more\nn: !!float 1\n',
];
const COMMANDS = ['_return', '_minion_event', '_pillar', '_file_list', 'revoke_auth', '_mine'];

/** All targets; their names are those of `--target` and of the corpora. */
export const TARGETS: readonly Target[] = [
  { name: 'frames', seeds: seedFrames, run: answer },
  {
    name: 'msgpack',
    seeds: seedFrames,
    run: expecting((bytes) => {
      const value = unpack(bytes);
      pack(value);
      scanMap(bytes);
    }, WireError),
  },
  {
    name: 'envelopes',
    seeds: seedFrames,
    run: expecting((bytes) => void readEnvelope(bytes, { minimumAuthVersion: 3 }), Refusal),
  },
  {
    name: 'auth',
    seeds: () => [
      pack(mapOf({ cmd: '_auth', id: MINION, nonce: 'n', pub: minionKey.publicKey.pem })),
      pack(mapOf({ cmd: '_auth', id: 'x', nonce: 'n', pub: 'x', token: Buffer.alloc(256) })),
    ],
    run: (bytes) => answer(envelopeOf('clear', bytes)),
  },
  {
    name: 'sealed',
    seeds: () =>
      COMMANDS.map((cmd) => {
        const tok = minionToken(minionKey);
        const fields = { tag: 'a/b', data: mapOf({}), jid: '20261122080000123456', return: true };
        return pack(mapOf({ cmd, id: MINION, tok, nonce: 'a'.repeat(32), ...fields }));
      }),
    run: (bytes) => answer(envelopeOf('aes', session.seal(bytes))),
  },
  {
    name: 'tags',
    seeds: () => TAGS.map((tag) => Buffer.from(tag)),
    run: expecting((bytes) => {
      parseTag(text(bytes));
      firedTag(text(bytes));
      isMinionId(text(bytes));
    }),
  },
  {
    name: 'targets',
    seeds: () => TARGET_TEXTS.map((target) => Buffer.from(target)),
    run: expecting((bytes) => {
      const tgtType = TYPES[(bytes[0] ?? 0) % TYPES.length] ?? 'glob';
      checkTarget(text(bytes), tgtType);
    }, WorkError),
  },
  {
    name: 'yaml',
    seeds: () => YAMLS.map((yaml) => Buffer.from(yaml)),
    run: expecting((bytes) => void parseConfigText(text(bytes), 'fuzz'), ConfigError),
  },
];

const FACTS = mapOf({ os: 'Debian', ipv4: ['10.0.0.1'], role: mapOf({ web: 'front' }) });
const IDS = ['web1.example', 'web2', 'db-1', 'a'.repeat(60)];

function checkTarget(tgt: string, tgtType: string): void {
  checkMinions(
    { tgt, tgtType },
    {
      accepted: new Set(IDS),
      grains: () => FACTS,
      pillar: () => FACTS,
      nodegroups: { group1: 'L@web1.example,web2', loop: 'N@loop' },
      cacheless: 'drop',
    },
  );
}

/** An envelope around raw msgpack, so that what is inside stays as broken as it is. */
function envelopeOf(enc: 'aes' | 'clear', load: Buffer): Buffer {
  const head = pack(mapOf({ enc, version: 3, id: MINION, load: null }));
  // The last byte is the nil of `load`.
  const inner = enc === 'aes' ? pack(load) : load;
  return Buffer.concat([head.subarray(0, -1), inner]);
}

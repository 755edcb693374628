/**
 * Measures the hot paths: `npx tsx --conditions=source libs/wire/bench/codec.ts`. Each line:
 * microseconds per call, the best of five rounds.
 */
import { decode, encode } from '@msgpack/msgpack';
import { readEnvelope } from '../src/frames/envelope.ts';
import { toBinMap } from '../src/frames/event.ts';
import { unpack } from '../src/msgpack/decode.ts';
import { pack } from '../src/msgpack/encode.ts';
import { scanMap } from '../src/msgpack/scan.ts';
import { cutFields, unpackMap } from '../src/msgpack/splice.ts';
import { toJson } from '../src/text/json.ts';
import { JsonTranscoder } from '../src/text/transcode.ts';
import type { SaltValue } from '../src/value.ts';
import { mapOf } from '../src/value.ts';
import { measure } from './measure.ts';

function returnLoad(content: SaltValue): SaltValue {
  return mapOf({
    cmd: '_return',
    id: 'web1.example',
    success: true,
    return: content,
    retcode: 0,
    jid: '20261120171953105574',
    fun: 'test.ping',
    fun_args: [],
    user: 'root',
    _stamp: '2026-11-20T17:19:53.292947',
    nonce: '86a4591453bc41a5af7a488067b2db4b',
    ts: 1_795_195_193,
    tok: Buffer.alloc(256, 0xfe),
  });
}

const states = mapOf(
  Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [
      `file_|-/srv/lab/out-${index}_|-/srv/lab/out-${index}_|-managed`,
      mapOf({
        changes: mapOf({ diff: 'New file', mode: '0640' }),
        comment: `File /srv/lab/out-${index} updated`,
        name: `/srv/lab/out-${index}`,
        result: true,
        __sls__: 'hello',
        __run_num__: index,
        start_time: '17:21:13.896054',
        duration: 47.515,
        __id__: `/srv/lab/out-${index}`,
      }),
    ]),
  ),
);
const transcoder = new JsonTranscoder();
const ping = pack(returnLoad(true));
const apply = pack(returnLoad(states));
const text = pack(returnLoad('x'.repeat(1_000_000)));
const envelope = pack(
  mapOf({
    enc: 'aes',
    load: Buffer.concat([Buffer.alloc(16, 0xfe), ping]),
    version: 3,
    id: 'web1.example',
    enc_algo: 'OAEP-SHA1',
    sig_algo: 'PKCS1v15-SHA1',
  }),
);

for (const [name, bytes] of [
  ['test.ping return', ping],
  ['state.apply return, 50 states', apply],
  ['return of 1 MB text', text],
] as const) {
  const value = unpack(bytes);
  const plain = decode(bytes);
  measure(`scanMap    ${name} (${bytes.length} bytes)`, () => scanMap(bytes));
  measure(`cutFields  ${name}`, () => cutFields(bytes, ['tok', 'nonce']));
  measure(`unpack     ${name}`, () => unpack(bytes));
  measure(`toJson     ${name}, unpacked first`, () => toJson(unpackMap(bytes)));
  measure(`transcode  ${name}`, () => transcoder.read(bytes));
  measure(`pack       ${name}`, () => pack(value));
  measure(`toBinMap   ${name}`, () => toBinMap(bytes));
  measure(`decode     ${name} (@msgpack/msgpack)`, () => decode(bytes));
  measure(`encode     ${name} (@msgpack/msgpack)`, () => encode(plain));
}
measure('readEnvelope of a sealed return', () => readEnvelope(envelope));

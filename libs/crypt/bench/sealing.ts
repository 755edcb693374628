/*
 * What sealing and RSA cost, per call: `npx tsx --conditions=source libs/crypt/bench/sealing.ts`.
 * Each line: microseconds per call, the best of five rounds.
 */
import { Crypticle, cryptoInUse, newKeyString, PrivateKey } from '@brine/crypt';
import { measure } from '../../wire/bench/measure.ts';

const nonce = '86a4591453bc41a5af7a488067b2db4b';
const keyString = newKeyString();
const node = { name: 'node', crypticle: new Crypticle(keyString, 'node') };
const used = cryptoInUse();
if (used.crypto === 'node') console.log(`node alone: ${used.why}`);
// What is usual here beside Node's; the same where the native part is not built.
const seals =
  used.crypto === 'node' ? [node] : [node, { name: 'native', crypticle: new Crypticle(keyString) }];
measure('new Crypticle  node', () => new Crypticle(keyString, 'node'));
measure(`new Crypticle  ${used.crypto}`, () => new Crypticle(keyString));
for (const [name, bytes] of [
  ['150 bytes, as a reply', 150],
  ['350 bytes, as a return of test.ping', 350],
  ['16 KB, as a return of state.apply', 16_384],
  ['1 MB', 1_048_576],
] as const) {
  const body = Buffer.alloc(bytes, 'x');
  const sealed = node.crypticle.seal(body, { nonce });
  for (const { name: crypto, crypticle } of seals) {
    measure(`seal       ${crypto.padEnd(6)}  ${name}`, () => crypticle.seal(body, { nonce }));
  }
  for (const { name: crypto, crypticle } of seals) {
    measure(`open       ${crypto.padEnd(6)}  ${name}`, () => crypticle.open(sealed));
  }
}
for (const bits of [2048, 4096]) {
  const key = await PrivateKey.generate(bits);
  const { publicKey } = key;
  const session = Buffer.from(keyString);
  const sealed = publicKey.oaepEncrypt(session, 'OAEP-SHA1');
  const signed = key.sign(session, 'PKCS1v15-SHA1');
  const block = key.x931Encrypt(session.subarray(0, 64));
  measure(`RSA ${bits}  oaepEncrypt`, () => publicKey.oaepEncrypt(session, 'OAEP-SHA1'));
  measure(`RSA ${bits}  oaepDecrypt`, () => key.oaepDecrypt(sealed, 'OAEP-SHA1'));
  measure(`RSA ${bits}  sign`, () => key.sign(session, 'PKCS1v15-SHA1'));
  measure(`RSA ${bits}  verify`, () => publicKey.verify(session, signed, 'PKCS1v15-SHA1'));
  measure(`RSA ${bits}  x931Encrypt`, () => key.x931Encrypt(session.subarray(0, 64)));
  measure(`RSA ${bits}  x931Recover`, () => publicKey.x931Recover(block));
  measure(`RSA ${bits}  parse private key`, () => PrivateKey.parse(key.pem));
}

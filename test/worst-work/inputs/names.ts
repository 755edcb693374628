import * as crypt from '@brine/crypt';
import * as job from '@brine/job';
import { checkNames, checkQuestion, isName, mapOf } from '@brine/wire';
import { plainText, visible } from '@brine/wire/text';
import { many, type WorstWork } from '../worst.ts';

const LONG = 500_000;
const TEXTS: readonly string[] = [
  ...['a', '/', 'salt/', 'salt/job/', '0', '.', '\0', ' ', '%', '\ud800', '\n', '-'].map((one) =>
    one.repeat(LONG / one.length),
  ),
  `salt/job/20261122080000123456/ret/${'/'.repeat(LONG)}`,
  `salt/job/${'2'.repeat(LONG)}/ret/web1`,
  `${'2'.repeat(20)}_${'1'.repeat(LONG)}`,
];

export const names: WorstWork = {
  of: [
    ...['parseTag', 'firedTag', 'isHookTag', 'isJid', 'isMinionId'].map((name) => `job.${name}`),
    ...['mayHaveKey', 'mayBeOffered'].map((name) => `job.${name}`),
    ...['checkNames', 'checkQuestion', 'isName'].map((name) => `wire.${name}`),
    ...['plainText', 'visible'].map((name) => `wire.${name}`),
  ],
  inputs: () =>
    TEXTS.flatMap((text) => {
      const name = `${JSON.stringify(text.slice(0, 20))} of ${text.length}`;
      const list = Array.from({ length: 20_000 }, (_, at) => `${at}${text.slice(0, 20)}`);
      return [
        [`a tag: ${name}`, () => [job.parseTag(text), job.firedTag(text), job.isHookTag(text)]],
        [`a tag that fits: ${name}`, () => job.firedTag(text.slice(0, 8_192))],
        [`a jid or an id: ${name}`, () => [job.isJid(text), job.isMinionId(text)]],
        [`an id that fits: ${name}`, () => job.mayHaveKey(text.slice(0, 255))],
        [`an id that is offered: ${name}`, () => job.mayBeOffered(text.slice(0, 255), '~#')],
        [`an id of any length: ${name}`, () => job.mayBeOffered(text)],
        [`a name: ${name}`, () => isName('tgt', text)],
        [`fields: ${name}`, () => checkNames(mapOf({ tgt: list, fun: text }), 'a load')],
        [`keys: ${name}`, () => checkNames(new Map([[text, 1]]), 'a load')],
        [`a text for a terminal: ${name}`, () => plainText(text)],
        [`a tag for a terminal: ${name}`, () => visible(text.slice(0, 8_192))],
        [`a question: ${name}`, () => checkQuestion(mapOf({ id: text, ids: list }), 'it')],
      ] as const;
    }),
};

const BEGIN = '-----BEGIN PUBLIC KEY-----\n';
const END = '\n-----END PUBLIC KEY-----';
/** RSA public keys with numbers that a real key never has: n and e as DER integers. */
function rsaKey(modulus: Buffer, exponent: Buffer): string {
  const der = (tag: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 255]), content]);
  const key = der(0x30, Buffer.concat([der(2, modulus), der(2, exponent)]));
  const id = Buffer.from('300d06092a864886f70d0101010500', 'hex');
  const spki = der(0x30, Buffer.concat([id, der(3, Buffer.concat([Buffer.from([0]), key]))]));
  return BEGIN + (spki.toString('base64').match(/.{1,64}/g) ?? []).join('\n') + END;
}
const odd = (bytes: number): Buffer => Buffer.concat([Buffer.alloc(1), Buffer.alloc(bytes, 0xff)]);
const KEYS: readonly (readonly [string, string])[] = [
  ['the longest modulus', rsaKey(odd(2_048), Buffer.from([1, 0, 1]))],
  ['a longer modulus', rsaKey(odd(7_000), Buffer.from([1, 0, 1]))],
  ['a long exponent', rsaKey(odd(256), odd(255))],
  ['both long', rsaKey(odd(3_000), odd(2_999))],
  ['an even modulus', rsaKey(Buffer.concat([odd(255), Buffer.from([0])]), Buffer.from([3]))],
  ['lines', BEGIN + 'A\n'.repeat(8_000) + END],
  ['lines of 64', BEGIN + `${'A'.repeat(64)}\n`.repeat(240) + END],
  ['begins', BEGIN.repeat(500)],
  ['a megabyte', BEGIN + 'A'.repeat(1_000_000) + END],
  [
    'nested',
    BEGIN +
      Buffer.from(
        many(4_000, () => '\x30\x80'),
        'latin1',
      ).toString('base64') +
      END,
  ],
  ['spaces', ' '.repeat(1_000_000)],
];

export const keys: WorstWork = {
  of: [
    'PublicKey',
    'PrivateKey',
    'Crypticle',
    'fingerprint',
    'normalisePem',
    'checkMinionToken',
    'constantTimeEqual',
    'SecretBox',
    'isEncAlgo',
    'isSigAlgo',
  ].map((name) => `crypt.${name}`),
  inputs: () => {
    const crypticle = new crypt.Crypticle(crypt.newKeyString());
    const blob = Buffer.alloc(1_000_000, 0x55);
    const token = Buffer.alloc(2_048, 0x55);
    return [
      ...KEYS.flatMap(([name, pem]) => [
        [`a key: ${name}`, () => crypt.PublicKey.parse(pem)] as const,
        [
          `a key to check a token: ${name}`,
          () => crypt.checkMinionToken(crypt.PublicKey.parse(pem), token),
        ] as const,
        [
          `a key to seal to: ${name}`,
          () => crypt.PublicKey.parse(pem).oaepEncrypt(Buffer.alloc(32), 'OAEP-SHA1'),
        ] as const,
        [
          `a signature: ${name}`,
          () =>
            crypt.PublicKey.parse(pem).verify(blob.subarray(0, 100_000), token, 'PKCS1v15-SHA1'),
        ] as const,
        [`its fingerprint: ${name}`, () => crypt.fingerprint(pem, '3006')] as const,
        [`as a file has it: ${name}`, () => crypt.normalisePem(pem)] as const,
        [
          `a private key: ${name}`,
          () => crypt.PrivateKey.parse(pem.replaceAll('PUBLIC', 'PRIVATE')),
        ] as const,
      ]),
      ['a sealed blob', () => crypticle.open(blob)],
      ['a sealed reply', () => crypticle.openReply(blob, 'a'.repeat(100_000))],
      [
        'texts',
        () => [
          crypt.constantTimeEqual('a'.repeat(LONG), 'b'.repeat(LONG)),
          crypt.isEncAlgo('a'.repeat(LONG)),
          crypt.isSigAlgo('__proto__'),
        ],
      ],
      ['a secret box', () => crypt.SecretBox.fromMasterKey('x'.repeat(100_000), 'p').open(blob)],
    ];
  },
};

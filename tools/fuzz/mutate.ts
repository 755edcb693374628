/** Heads of containers that announce too much, and odd bytes of each grammar. */
const TOKENS = [
  Buffer.from('dfffffffff', 'hex'),
  Buffer.from('ddffffffff', 'hex'),
  Buffer.from('c6ffffffff', 'hex'),
  Buffer.from('c9ffffffff01', 'hex'),
  Buffer.from('cfffffffffffffffff', 'hex'),
  Buffer.from('cb7ff8000000000000', 'hex'),
  ...['((((((((', '))))))))', '[!!!]', '***', ' and not ', '(a+)+$', '{1,9999}', '&a *a', '<<: '],
  ...[
    '__proto__',
    'constructor',
    '../',
    '\0',
    '%s',
    '\u2028',
    '!!python/object:',
    ': : :',
    '- - -',
  ],
].map((token) => Buffer.from(token));
const LONGEST = 20_000;

/** Makes an input from known ones: cut, joined, flipped, with repeated parts. */
export function mutate(seeds: readonly Buffer[], random: () => number): Buffer {
  const below = (limit: number): number => Math.floor(random() * Math.max(1, limit));
  const pick = (): Buffer => Buffer.from(seeds[below(seeds.length)] ?? Buffer.alloc(0));
  let bytes = pick();
  for (let rounds = 1 + below(4); rounds > 0; rounds -= 1) {
    const at = below(bytes.length + 1);
    switch (below(7)) {
      case 0:
        bytes = bytes.subarray(0, at);
        break;
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), pick().subarray(below(60))]);
        break;
      case 2: {
        const token = TOKENS[below(TOKENS.length)] ?? Buffer.alloc(1);
        bytes = Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)]);
        break;
      }
      case 3: {
        const part = bytes.subarray(at, at + 1 + below(40));
        const times = 1 + below(50);
        bytes = Buffer.concat([bytes.subarray(0, at), ...Array<Buffer>(times).fill(part)]);
        break;
      }
      case 4:
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
        break;
      case 5:
        for (let n = below(12); n >= 0 && bytes.length > 0; n -= 1) {
          bytes[below(bytes.length)] = below(256);
        }
        break;
      default:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(20))]);
    }
  }
  return bytes.length > LONGEST ? bytes.subarray(0, LONGEST) : bytes;
}

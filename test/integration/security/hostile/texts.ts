import { isMap, pack, type SaltMap, type SaltValue } from '@brine/wire';

/** Stands for bytes that no text of JavaScript can hold; {@link packRaw} puts them in. */
const BROKEN = '@@@';
/** A lone surrogate as UTF-8 would write it, which is no UTF-8. */
const LONE_SURROGATE = Buffer.from([0xed, 0xa0, 0xbd]);

/** Where texts of a record are cut today or were once: a character must not be cut in two there. */
const CUTS = [63, 127, 199, 200, 254, 255, 999];

/** Texts that some store, log, terminal, subject or file name can not hold as they are. */
export const HOSTILE: Readonly<Record<string, SaltValue>> = {
  nul: 'x\0y',
  'only nul': '\0',
  broken: `x${BROKEN}y`,
  'broken bytes': Buffer.from([0xff, 0xfe, 0x00, 0x41]),
  escape: 'x\u001B[2J\u001B]0;y\u0007',
  lines: 'x\r\ny: z\n\n',
  rtl: 'x\u202Egnp.\u2066y',
  emoji: CUTS.map((cut) => 'a'.repeat(cut) + '\u{1F600}').join(''),
  long: '\u{1F9C2}'.repeat(60_000),
  prototype: '__proto__',
};

/** As `pack`, with broken UTF-8 where {@link HOSTILE} wants it. */
export function packRaw(value: SaltValue): Buffer {
  const packed = pack(value);
  for (let at = packed.indexOf(BROKEN); at >= 0; at = packed.indexOf(BROKEN, at)) {
    LONE_SURROGATE.copy(packed, at);
  }
  return packed;
}

/** The same map with one field, `kwargs.user` for one of a map inside, replaced. */
export function withField(load: SaltMap, path: string, value: SaltValue): SaltMap {
  const [name = '', ...rest] = path.split('.');
  const copy: SaltMap = new Map(load);
  if (rest.length === 0) return copy.set(name, value);
  const inner = copy.get(name);
  return copy.set(name, withField(isMap(inner) ? inner : new Map(), rest.join('.'), value));
}

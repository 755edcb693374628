/** Lower-case characters that have one upper-case form in common (Python: re/_casefix.py). */
const SAME_UPPER = (
  'iı sſ µμ \u0345ι\u1fbe \u0390\u1fd3 \u03b0\u1fe3 βϐ εϵ θϑ κϰ πϖ ρϱ ςσ φϕ ' +
  'в\u1c80 д\u1c81 о\u1c82 с\u1c83 т\u1c84\u1c85 ъ\u1c86 ѣ\u1c87 \u1c88ꙋ ṡẛ \ufb05\ufb06'
).split(' ');
const FELLOWS: ReadonlyMap<string, string> = new Map(
  SAME_UPPER.flatMap((group) => Array.from(group, (one) => [one, group] as const)),
);
/** Signs and letters whose lower case is that of another letter: Kelvin, Ångström, Ohm, … */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ['k', '\u212a'],
  ['å', '\u212b'],
  ['ω', '\u2126'],
  ['i', '\u0130'],
  ['ß', '\u1e9e'],
  ['θ', '\u03f4'],
]);

/** The lower case of a character, one character for one. */
export function lowerOf(code: number): number {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
  if (code === 0x130) return 0x69;
  const lower = String.fromCodePoint(code).toLowerCase();
  const first = lower.codePointAt(0) ?? code;
  return lower.length === (first > 0xffff ? 2 : 1) ? first : code;
}

/** All forms of a character if case does not count. */
export function variantsOf(code: number): readonly number[] {
  const lower = String.fromCodePoint(lowerOf(code));
  const found = new Set<number>([code]);
  for (const fellow of FELLOWS.get(lower) ?? lower) {
    found.add(fellow.codePointAt(0) ?? 0);
    const upper = fellow.toUpperCase();
    if (Array.from(upper).length === 1) found.add(upper.codePointAt(0) ?? 0);
    const sign = SIGNS.get(fellow);
    if (sign !== undefined) found.add(sign.codePointAt(0) ?? 0);
  }
  return [...found];
}

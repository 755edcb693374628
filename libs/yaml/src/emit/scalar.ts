import { resolvePlain } from '../values/resolve.ts';

/** The facts by which libyaml's emitter chooses the style of a scalar. */
export interface ScalarFacts {
  readonly multiline: boolean;
  readonly flowPlain: boolean;
  readonly blockPlain: boolean;
  readonly single: boolean;
}

const BREAK = new Set(['\n', '\r', '\x85', '\u2028', '\u2029']);
const FIRST_INDICATORS = new Set('#,[]{}&*!|>\'"%@`');
const FLOW_INDICATORS = new Set(',?[]{}');

/** True for a line end as YAML 1.1 has it. */
export function isBreak(character: string | undefined): boolean {
  return character !== undefined && BREAK.has(character);
}

function isBlank(character: string | undefined): boolean {
  return character === undefined || character === ' ' || character === '\t' || isBreak(character);
}

/** libyaml's IS_PRINTABLE: no tab, nothing above U+FFFF. */
export function isPrintable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0a || (code >= 0x20 && code <= 0x7e)) return true;
  if (code < 0xa0 || code > 0xfffd || code === 0xfeff) return false;
  return code < 0xd800 || code > 0xdfff;
}

interface Findings {
  flow: boolean;
  block: boolean;
  special: boolean;
  breaks: boolean;
  edge: boolean;
  breakSpace: boolean;
  spaceBreak: boolean;
}

/** The styles a text may be written in (libyaml: src/emitter.c, yaml_emitter_analyze_scalar). */
export function analyseScalar(text: string): ScalarFacts {
  if (text === '') return { multiline: false, flowPlain: false, blockPlain: true, single: true };
  const found: Findings = {
    flow: text.startsWith('---') || text.startsWith('...'),
    block: text.startsWith('---') || text.startsWith('...'),
    special: false,
    breaks: false,
    edge: false,
    breakSpace: false,
    spaceBreak: false,
  };
  const characters = [...text];
  characters.forEach((character, at) => {
    findIndicators(characters, at, found);
    if (!isPrintable(character)) found.special = true;
    if (isBreak(character)) found.breaks = true;
    if (character !== ' ' && !isBreak(character)) return;
    if (at === 0 || at === characters.length - 1) found.edge = true;
    const before = characters[at - 1];
    if (character === ' ' && isBreak(before)) found.breakSpace = true;
    if (isBreak(character) && before === ' ') found.spaceBreak = true;
  });
  const plain = !found.edge && !found.breakSpace && !found.breaks;
  const ok = !found.spaceBreak && !found.special;
  return {
    multiline: found.breaks,
    flowPlain: plain && ok && !found.flow,
    blockPlain: plain && ok && !found.block,
    single: ok && !found.breakSpace,
  };
}

function findIndicators(characters: readonly string[], at: number, found: Findings): void {
  const character = characters[at] ?? '';
  const followed = isBlank(characters[at + 1]);
  if (at === 0) {
    if (FIRST_INDICATORS.has(character)) found.flow = found.block = true;
    if (character === '?' || character === ':') {
      found.flow = true;
      if (followed) found.block = true;
    }
    if (character === '-' && followed) found.flow = found.block = true;
    return;
  }
  if (FLOW_INDICATORS.has(character)) found.flow = true;
  if (character === ':') {
    found.flow = true;
    if (followed) found.block = true;
  }
  if (character === '#' && isBlank(characters[at - 1])) found.flow = found.block = true;
}

/** The style in which a text is read back as the same text. */
export function styleOfText(
  text: string,
  flow: boolean,
  simpleKey: boolean,
): 'plain' | 'single' | 'double' {
  const facts = analyseScalar(text);
  if (simpleKey && facts.multiline) return 'double';
  const plainAllowed = flow ? facts.flowPlain : facts.blockPlain;
  if (plainAllowed && resolvePlain(text).kind === 'str') return 'plain';
  return facts.single ? 'single' : 'double';
}

const SHORT_ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x00, '0'],
  [0x07, 'a'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0b, 'v'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x1b, 'e'],
  [0x22, '"'],
  [0x5c, '\\'],
  [0x85, 'N'],
  [0xa0, '_'],
  [0x2028, 'L'],
  [0x2029, 'P'],
]);

/** The escape of a character in double quotes; undefined if it needs none. */
export function escapeOf(character: string): string | undefined {
  const code = character.codePointAt(0) ?? 0;
  const quoted = character === '"' || character === '\\';
  if (!quoted && isPrintable(character) && !isBreak(character)) return undefined;
  const short = SHORT_ESCAPES.get(code);
  if (short !== undefined) return `\\${short}`;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** A text in YAML's double quotes, on one line. */
export function doubleQuoted(text: string): string {
  let out = '"';
  for (const character of text) out += escapeOf(character) ?? character;
  return `${out}"`;
}

/** A text in YAML's single quotes; a line end is written twice, as a reader folds one. */
export function singleQuoted(text: string): string {
  const body = text.replaceAll("'", "''").replaceAll(/\n+/g, (ends) => `${ends}\n`);
  return `'${body}'`;
}

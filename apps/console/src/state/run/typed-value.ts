/** A value as `/v1` takes it. */
export type Value =
  null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

/** What a word of a command means, or why it can not be sent. */
export type Meant =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'problem'; readonly text: string };

/**
 * A word of a command line as `salt` reads it: YAML 1.1, of which numbers, booleans, nothing, and
 * lists and maps in brackets are taken; all else is text (Salt: salt/utils/args.py yamlify_arg).
 */
export function typedValue(text: string): Meant {
  const bare = text.trim();
  if (bare === '' || bare === '---' || bare === '...') return given(text);
  if (text.includes('_') && /^[0-9_]*$/.test(bare)) return given(text);
  if (/[\t\r\n]/.test(text)) return given(text);
  if (text === 'None') return given(null);
  // A list or a map begins the word, else it is text (Salt does so).
  if (/^ +[[{]/.test(text) && !text.includes('#')) return given(text);
  // Anchors, tags and blocks: what they leave of the word is rarely meant.
  if (/^[&!>|]/.test(bare)) {
    return { kind: 'problem', text: `${bare.slice(0, 1)} begins something of YAML: use quotes` };
  }
  try {
    const flow = new Flow(bare);
    const value = flow.value('');
    if (flow.isAtEnd()) {
      const isText = typeof value === 'string' || value === null;
      return given(text.includes('#') && isText ? text : value);
    }
  } catch (error) {
    if (error instanceof Inexact) return { kind: 'problem', text: error.message };
    if (!(error instanceof NoFlow)) throw error;
  }
  // Brackets that are no YAML: the command line sends them as text, which is rarely meant.
  if (/^[[{]/.test(bare))
    return { kind: 'problem', text: 'These brackets are no list and no map of YAML' };
  // With a comment the command line takes these for lists and maps (Salt does).
  if (text.includes('#')) return { kind: 'problem', text: 'With a # this needs quotes' };
  return given(text);
}

/** The type of a value, in a word. */
export function typeName(value: Value): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') return 'map';
  return { string: 'text', number: 'number', boolean: 'boolean' }[
    typeof value as 'string' | 'number' | 'boolean'
  ];
}

function given(value: Value): Meant {
  return { kind: 'value', value };
}

/** A text that is not the kind of YAML that is read here. */
class NoFlow extends Error {}
/** A number that JSON would change. */
class Inexact extends Error {}

/** Levels of brackets. */
const DEPTH_MAX = 64;

/** Reads YAML in brackets and quotes. */
class Flow {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isAtEnd(): boolean {
    this.#space();
    return this.#at >= this.#text.length;
  }

  /** @param ends characters that end an unquoted value here */
  value(ends: string): Value {
    this.#space();
    const first = this.#text[this.#at];
    if (first === '[') return this.#within(() => this.#list());
    if (first === '{') return this.#within(() => this.#map());
    if (first === '"' || first === "'") return this.#quoted();
    return plainValue(this.#plain(ends));
  }

  #within<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new NoFlow('too deep');
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #list(): Value {
    const items: Value[] = [];
    this.#at += 1;
    while (!this.#takes(']')) {
      items.push(this.value(',]{}['));
      if (this.#takes(',')) continue;
      this.#need(']');
      break;
    }
    return items;
  }

  #map(): Value {
    const entries: [string, Value][] = [];
    this.#at += 1;
    while (!this.#takes('}')) {
      this.#space();
      const isQuoted = /["']/.test(this.#text[this.#at] ?? '');
      const key = isQuoted ? this.#quoted() : this.#plain(':,{}[]');
      let value: Value = null;
      if (this.#takes(':')) {
        this.#space();
        if (!/[,}]/.test(this.#text[this.#at] ?? '')) value = this.value(',}{[]');
      }
      // Names in JSON are texts: a number as a name would become one.
      if (!isQuoted && typeof plainValue(key) !== 'string') {
        throw new Inexact(`The name ${key} can not be sent: put it in quotes`);
      }
      entries.push([key, value]);
      if (this.#takes(',')) continue;
      this.#need('}');
      break;
    }
    return Object.fromEntries(entries);
  }

  #takes(sign: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #need(sign: string): void {
    if (!this.#takes(sign)) throw new NoFlow(`no ${sign}`);
  }

  #space(): void {
    while (this.#text[this.#at] === ' ') this.#at += 1;
    // A comment: the rest of the line.
    if (this.#text[this.#at] === '#') this.#at = this.#text.length;
  }

  #plain(ends: string): string {
    const rest = this.#text.slice(this.#at);
    const isFlow = ends !== '';
    let length = 0;
    for (; length < rest.length; length += 1) {
      const one = rest[length] ?? '';
      if (one === '#' && rest[length - 1] === ' ') break;
      // PyYAML refuses a plain name whose colon has no space before what follows.
      if (isFlow && one === ':' && /^[,[\]{}]/.test(rest.slice(length + 1, length + 2))) {
        throw new NoFlow('a name without a space after its colon');
      }
      if (one === ':' && endsName(rest[length + 1])) {
        if (ends.startsWith(':')) break;
        throw new NoFlow('a map without brackets');
      }
      if (isFlow && one !== ':' && ends.includes(one)) break;
    }
    const word = rest.slice(0, length).trim();
    // These begin something that is not read here: anchors, tags, blocks, lists of lines.
    if (/^[&*!|>%@`\]},]|^[-?]( |$)/.test(word) || (isFlow && /^(?:$|[?:]|-[^\w./])/.test(word)))
      throw new NoFlow('a sign');
    this.#at += length;
    return word;
  }

  #quoted(): string {
    return this.#text[this.#at] === '"' ? this.#double() : this.#single();
  }

  #single(): string {
    const [whole, inner = ''] = /^'((?:[^']|'')*)'/.exec(this.#text.slice(this.#at)) ?? [];
    if (whole === undefined) throw new NoFlow('no end of quotes');
    this.#at += whole.length;
    return inner.replaceAll("''", "'");
  }

  #double(): string {
    const [whole] = /^"(?:[^"\\]|\\.)*"/.exec(this.#text.slice(this.#at)) ?? [];
    if (whole === undefined) throw new NoFlow('no end of quotes');
    this.#at += whole.length;
    try {
      return JSON.parse(whole) as string;
    } catch {
      throw new Inexact('In double quotes only the escapes of JSON are read');
    }
  }
}

function endsName(after: string | undefined): boolean {
  return after === undefined || after === ' ';
}

// As PyYAML resolves unquoted scalars (libs/yaml resolve.ts).
const NOTHING = /^(?:~|null|Null|NULL)?$/;
const TRUE = /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const FLOAT =
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/;
const INF = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const SIXTY = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const INTEGER =
  /^[-+]?(?:0b_*[01][01_]*|0_*[0-7][0-7_]*|0|[1-9][0-9_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*)$/;

/** The value of an unquoted scalar. */
function plainValue(text: string): Value {
  if (text === '=' || text === '<<') throw new NoFlow('a sign');
  if (NOTHING.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (INF.test(text) || SIXTY.test(text)) {
    throw new Inexact(`${text} is a number that can not be sent from here`);
  }
  if (FLOAT.test(text)) {
    const value = Number(text.replaceAll('_', ''));
    if (!Number.isInteger(value)) return value;
    throw new Inexact(`${text} would be sent as ${value}: without the point it is the same`);
  }
  return INTEGER.test(text) ? integer(text) : text;
}

function integer(text: string): Value {
  // A job id reads as a number; it is sent as text (Salt: condition_input).
  if (/^\d{20}$/.test(text)) return text;
  const isZeros = /^0(?![bx])/.test(text);
  const plain = (isZeros ? text.replace(/^0+/, '') || '0' : text).replaceAll('_', '');
  const body = plain.replace(/^[-+]/, '');
  const isOctal = /^0[0-7]+$/.test(body);
  const value = Number(isOctal ? `0o${body.slice(1)}` : body);
  if (!Number.isSafeInteger(value)) throw new Inexact(`${text} is too large a number`);
  return plain.startsWith('-') ? 0 - value : value;
}

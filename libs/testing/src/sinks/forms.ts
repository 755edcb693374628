/** A text that may be in no sink except those that its test names. */
export interface SoughtSecret {
  /** As `root key`; never the value. */
  readonly name: string;
  readonly value: string;
}

/** A form of a secret in bytes. */
export interface SecretForm {
  readonly secret: string;
  /** As `base64`. */
  readonly form: string;
  readonly bytes: Buffer;
}

/** A shorter form could occur by chance. */
const LENGTH_MIN = 8;

/**
 * Every form in which programs write a text: as it is, escaped for JSON once and twice, for YAML,
 * Python and URLs, in hex, in base64 at each offset, and as a list of numbers.
 * @throws Error for a secret that is too short to be searched for
 */
export function formsOf({ name, value }: SoughtSecret): SecretForm[] {
  const bytes = Buffer.from(value);
  if (bytes.length < LENGTH_MIN) throw new Error(`${name} is too short to be looked for`);
  const json = inJson(value);
  const forms: readonly (readonly [form: string, text: string])[] = [
    ['as it is', value],
    ['JSON', json],
    ['JSON in JSON', inJson(json)],
    ['JSON in ASCII', inAscii(json)],
    ['YAML', value.replaceAll("'", "''")],
    ['Python', value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")],
    ['URL', encodeURIComponent(value)],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
    ['numbers', bytes.join(',')],
    ['spaced numbers', bytes.join(', ')],
    ...[0, 1, 2].flatMap((shift) => inBase64(bytes, shift)),
  ];
  const found = new Map<string, SecretForm>();
  for (const [form, text] of forms) {
    if (!found.has(text)) found.set(text, { secret: name, form, bytes: Buffer.from(text) });
  }
  return [...found.values()].filter((one) => one.bytes.length >= LENGTH_MIN);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function inAscii(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The characters that depend on these bytes alone, whatever is before and after them. */
function inBase64(bytes: Buffer, shift: number): [form: string, text: string][] {
  const whole = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
  const text = whole.slice(Math.ceil((shift * 8) / 6), -4);
  const forUrls = text.replaceAll('+', '-').replaceAll('/', '_');
  return [
    [`base64 at ${shift}`, text],
    [`base64url at ${shift}`, forUrls],
  ];
}

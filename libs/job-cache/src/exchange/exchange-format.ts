import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';

/** The name of the format, in the first line of a file. */
export const EXCHANGE_FORMAT = 'brine-jobs';
/** The version that this release writes, and the only one it reads. */
export const EXCHANGE_VERSION = 1;

/** The kinds of lines between the first and the last, in the order in which a job has them. */
export const EXCHANGE_KINDS = ['job', 'return', 'evidence', 'sighting'] as const;

/** The kind of a line. */
export type ExchangeKind = (typeof EXCHANGE_KINDS)[number];

/** A line of a file: its kind, and its fields as in the JSON. */
export interface ExchangeRow {
  readonly kind: ExchangeKind;
  readonly jid: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A file in another format or version, or a damaged one. Names the line, from 1. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  readonly line: number;

  constructor(line: number, text: string) {
    super(`line ${line}: ${text}`);
    this.line = line;
  }
}

type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === 'string';
const isNumber: Test = (value) => Number.isSafeInteger(value);
const isFlag: Test = (value) => typeof value === 'boolean';
const isTime: Test = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const isObject: Test = (value) => typeof value === 'object' && value !== null;
const areTexts: Test = (value) => Array.isArray(value) && value.every(isText);
const isBase64: Test = (value) =>
  typeof value === 'string' && /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/.test(value);
const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value);

const RETURN: Readonly<Record<string, Test>> = {
  jid: isText,
  id: isText,
  fun: isText,
  retcode: orNull(isNumber),
  success: orNull(isFlag),
  failed: isFlag,
  full_ret: orNull(isObject),
  raw: orNull(isBase64),
  received_at: isTime,
  incarnation: isText,
  seq: isNumber,
  content: isText,
};

/** The fields of each kind; all have to be there. */
const FIELDS: Readonly<Record<ExchangeKind, Readonly<Record<string, Test>>>> = {
  job: {
    jid: isText,
    load: orNull(isObject),
    load_raw: orNull(isBase64),
    principal: isText,
    user: isText,
    fun: areTexts,
    tgt: areTexts,
    tgt_type: isText,
    minions: areTexts,
    missing: areTexts,
    published_at: isTime,
    deadline_at: orNull(isTime),
    deadline_after: orNull(isText),
    not_after: orNull(isTime),
    hidden: isFlag,
    origin: isNumber,
    // Absent in files of earlier releases.
    begun_by: (value) => value === undefined || orNull(isText)(value),
    host: isText,
    request_id: isText,
    incarnation: isText,
    seq: isNumber,
  },
  return: RETURN,
  evidence: RETURN,
  sighting: {
    jid: isText,
    id: isText,
    seen: isText,
    first_at: isTime,
    last_at: isTime,
    count: isNumber,
    detail: isObject,
  },
};

/** The lines of a file that comes in pieces, without their ends. */
export async function* exchangeLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const piece of pieces) {
    // Searches only the new piece: the line of a large return comes in many pieces.
    const [first = '', ...others] = decoder.write(Buffer.from(piece)).split('\n');
    rest += first;
    for (const other of others) {
      yield rest;
      rest = other;
    }
  }
  rest += decoder.end();
  if (rest !== '') yield rest;
}

/** The first line of a file, without its end. */
export function exchangeHead(atMs: number): string {
  const exported = new Date(atMs).toISOString();
  return JSON.stringify({ format: EXCHANGE_FORMAT, version: EXCHANGE_VERSION, exported });
}

/**
 * Reads the lines of a file in order, each without its end. The last line states the number of
 * lines before it and their SHA-256, so that nothing can be missing.
 */
export class ExchangeReader {
  readonly #hash = createHash('sha256');
  #lines = 0;
  #ended = false;

  /** How many lines were read. */
  get lines(): number {
    return this.#lines;
  }

  /** Undefined for the first and the last line. @throws ExchangeError */
  read(line: string): ExchangeRow | undefined {
    const number = this.#lines + 1;
    const value = parse(line, number);
    if (this.#ended) throw new ExchangeError(number, 'there is more after the end');
    if (number === 1) checkHead(value);
    const isEnd = value['kind'] === 'end';
    if (isEnd) this.#checkEnd(value, number);
    this.#ended = isEnd;
    this.#hash.update(line).update('\n');
    this.#lines = number;
    return number === 1 || isEnd ? undefined : rowOf(value, number);
  }

  /** Makes the last line from all lines read so far. */
  tail(): string {
    return JSON.stringify({ kind: 'end', lines: this.#lines, sha256: this.#sum() });
  }

  /** @throws ExchangeError where the last line has not come. */
  finish(): void {
    if (!this.#ended) throw new ExchangeError(this.#lines + 1, 'the end is missing');
  }

  #sum(): string {
    return this.#hash.copy().digest('hex');
  }

  #checkEnd(value: Readonly<Record<string, unknown>>, number: number): void {
    if (value['lines'] !== this.#lines) {
      const text = `read ${this.#lines} lines, but the last line counts ${String(value['lines'])}`;
      throw new ExchangeError(number, text);
    }
    if (value['sha256'] !== this.#sum()) {
      throw new ExchangeError(number, 'the lines before it were changed: another SHA-256');
    }
  }
}

function parse(line: string, number: number): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new ExchangeError(number, 'no JSON');
  }
  if (!isObject(value) || Array.isArray(value)) throw new ExchangeError(number, 'no JSON object');
  return value as Readonly<Record<string, unknown>>;
}

function checkHead(value: Readonly<Record<string, unknown>>): void {
  if (value['format'] !== EXCHANGE_FORMAT) throw new ExchangeError(1, 'no file of jobs.export');
  if (value['version'] !== EXCHANGE_VERSION) {
    const text = `version ${String(value['version'])}, this release reads ${EXCHANGE_VERSION}`;
    throw new ExchangeError(1, text);
  }
}

function rowOf(value: Readonly<Record<string, unknown>>, number: number): ExchangeRow {
  const kind = EXCHANGE_KINDS.find((one) => one === value['kind']);
  if (kind === undefined) throw new ExchangeError(number, 'no kind of line that is known');
  for (const [name, test] of Object.entries(FIELDS[kind])) {
    if (!test(value[name])) throw new ExchangeError(number, `${kind} without a good "${name}"`);
  }
  const [whole, raw] = kind === 'job' ? ['load', 'load_raw'] : ['full_ret', 'raw'];
  if (kind !== 'sighting' && value[whole] === null && value[raw] === null) {
    throw new ExchangeError(number, `${kind} with neither "${whole}" nor "${raw}"`);
  }
  return { kind, jid: value['jid'] as string, fields: value };
}

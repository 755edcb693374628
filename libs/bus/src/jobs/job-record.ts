import { Decoder, Encoder } from '@msgpack/msgpack';
import { BusError } from '../connection/errors.ts';

/** A job as it is stored: one message from which everything else is derived. */
export interface JobRecord {
  readonly jid: string;
  /** msgpack of the publication as minions get it, less its `serial`. */
  readonly publication: Uint8Array;
  /** msgpack of the clear load, less its key or token. */
  readonly load: Uint8Array;
  /** Who was let in, as `root key`, `eauth pam:ann`. */
  readonly principal: string;
  readonly user: string;
  readonly fun: string | readonly string[];
  readonly tgt: string | readonly string[];
  readonly tgtType: string;
  readonly minions: readonly string[];
  readonly missing: readonly string[];
  /** In ms since 1970. */
  readonly publishedAt: number;
  /** When what has not returned counts as never, in ms since 1970. */
  readonly deadlineAt: number;
  /** After this it is not sent any more, in ms since 1970. */
  readonly notAfter: number;
  /** Not shown in lists, as the `saltutil.find_job` of a waiting client. */
  readonly hidden: boolean;
  /** The host of the gateway that took it. */
  readonly host: string;
  /** The id of the request; the job's message is known by it. */
  readonly requestId: string;
  /** Set where the caller fixed the jid: it may be published in several pieces (batches). */
  readonly piece?: string;
  /** Sent again until `notAfter` to minions that were away. */
  readonly durable?: boolean;
}

const FORMAT = 1;
const encoder = new Encoder({ ignoreUndefined: true });
const decoder = new Decoder();

/** Packs a job's record. */
export function packJob(record: JobRecord): Uint8Array {
  return encoder.encode({ ...record, format: FORMAT });
}

/**
 * Reads a job's record.
 * @throws BusError `BUS_BAD_MESSAGE` for anything that {@link packJob} did not make.
 */
export function unpackJob(bytes: Uint8Array): JobRecord {
  let value: unknown;
  try {
    value = decoder.decode(bytes);
  } catch (error) {
    throw new BusError('BUS_BAD_MESSAGE', 'a job record that is no msgpack', error);
  }
  if (!isJob(value)) throw new BusError('BUS_BAD_MESSAGE', 'a job record of another form');
  const { format: _format, ...record } = value;
  return record;
}

function isJob(value: unknown): value is JobRecord & { readonly format: number } {
  if (typeof value !== 'object' || value === null) return false;
  const job = value as Record<string, unknown>;
  const texts = ['jid', 'principal', 'user', 'tgtType', 'host', 'requestId'];
  const times = ['publishedAt', 'deadlineAt', 'notAfter'];
  return (
    job['format'] === FORMAT &&
    texts.every((key) => typeof job[key] === 'string') &&
    times.every((key) => typeof job[key] === 'number') &&
    job['publication'] instanceof Uint8Array &&
    job['load'] instanceof Uint8Array &&
    (typeof job['fun'] === 'string' || isTexts(job['fun'])) &&
    (typeof job['tgt'] === 'string' || isTexts(job['tgt'])) &&
    isTexts(job['minions']) &&
    isTexts(job['missing']) &&
    (job['piece'] === undefined || typeof job['piece'] === 'string') &&
    (job['durable'] === undefined || typeof job['durable'] === 'boolean') &&
    typeof job['hidden'] === 'boolean'
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

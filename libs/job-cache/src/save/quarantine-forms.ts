import type { DurableRow } from '../durable/durable-row.ts';
import type { QuarantineRow } from '../read/quarantine-rows.ts';
import type { Refusal } from './quarantine.ts';
import type { JobRow, ReturnRow } from './rows.ts';

/** A job as JSON, its bytes in base64: the form that quarantine keeps. */
export function refusalOfJob(row: JobRow): Refusal {
  const raw = Buffer.from(JSON.stringify({ ...row, load: base64(row.load) }));
  return { ...positionOf(row), kind: 'job', id: '', raw, receivedAt: row.publishedAt };
}

/** The job in a row of {@link refusalOfJob}. Throws for other rows. */
export function refusedJob({ raw }: QuarantineRow): JobRow {
  const row = JSON.parse(raw.toString('utf8')) as JobRow & { readonly load: string };
  return { ...row, load: Buffer.from(row.load, 'base64') };
}

/** The same for a job that is sent again to minions that were unreachable. */
export function refusalOfDurable(row: DurableRow): Refusal {
  const { jid, fun, minions, publishedAt, seq, incarnation, requestId, notAfter } = row;
  const publication = base64(row.publication);
  const facts = { jid, fun, minions, publishedAt, seq, incarnation, requestId, notAfter };
  const raw = Buffer.from(JSON.stringify({ ...facts, publication }));
  return { ...positionOf(row), kind: 'durable', id: '', raw, receivedAt: publishedAt };
}

/** The durable job in a row of {@link refusalOfDurable}. Throws for other rows. */
export function refusedDurable({ raw }: QuarantineRow): DurableRow {
  const row = JSON.parse(raw.toString('utf8')) as DurableRow & { readonly publication: string };
  return { ...row, publication: Buffer.from(row.publication, 'base64') };
}

/** The return in quarantine, under its original names. */
export function refusedReturn(row: QuarantineRow): ReturnRow {
  const { about: facts, raw, incarnation, seq, subject } = row;
  const text = (name: string, column: string): string => {
    const value = facts[name];
    return typeof value === 'string' ? value : column;
  };
  const at = facts['receivedAt'];
  return {
    jid: text('jid', row.jid),
    id: text('id', row.id),
    load: raw,
    receivedAt: typeof at === 'number' ? at : (row.storedMs ?? row.atMs),
    incarnation: text('incarnation', incarnation),
    seq,
    ...(subject === '' ? {} : { subject }),
  };
}

function positionOf(row: JobRow | DurableRow): Pick<Refusal, 'jid' | 'incarnation' | 'seq'> {
  const { jid, incarnation, seq } = row;
  const subject = 'subject' in row ? row.subject : undefined;
  return { jid, incarnation, seq, ...(subject === undefined ? {} : { subject }) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

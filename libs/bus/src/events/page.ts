import type { Jid } from '@brine/job';
import { BusError } from '../connection/errors.ts';

/** The header of a page; its value is the number of its events. */
export const PAGE_HEADER = 'Brine-Page';

/** Most events of one page. */
export const PAGE_MAX_EVENTS = 255;
/** Most bytes of one page: a reader has at most 500 messages in memory. */
export const PAGE_MAX_BYTES = 192 * 1024;

/** Flags, three lengths of one byte, and the length of the body. */
const HEAD_BYTES = 8;
const FLAG_TRACED = 1;
/** Texts have lengths of one byte. */
const TEXT_MAX_BYTES = 255;

/** A return in a page; its tag is made of its job and its minion (`jobReturnTag`). */
export interface PagedReturn {
  readonly jid: Jid;
  readonly minion: string;
  readonly link: string | undefined;
  readonly traced: boolean;
  readonly body: Uint8Array;
}

/** How many bytes a return takes in a page; undefined where it does not fit into one. */
export function sizeInPage({ jid, minion, link, body }: PagedReturn): number | undefined {
  const minionBytes = Buffer.byteLength(minion);
  const linkBytes = link === undefined ? 0 : Buffer.byteLength(link);
  if (jid.length > TEXT_MAX_BYTES || Math.max(minionBytes, linkBytes) > TEXT_MAX_BYTES)
    return undefined;
  const size = HEAD_BYTES + jid.length + minionBytes + linkBytes + body.length;
  return size > PAGE_MAX_BYTES ? undefined : size;
}

/**
 * The bytes of a page. For each return: flags (1: its spans are recorded), the lengths of job,
 * minion and link as one byte each, the length of the body as four, and these four in turn.
 * `bytes` is the sum of {@link sizeInPage}.
 */
export function writePage(returns: readonly PagedReturn[], bytes: number): Buffer {
  const page = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const { jid, minion, link = '', traced, body } of returns) {
    let end = at + HEAD_BYTES;
    page[at] = traced ? FLAG_TRACED : 0;
    end += page[at + 1] = page.write(jid, end, 'latin1');
    end += page[at + 2] = page.write(minion, end);
    end += page[at + 3] = page.write(link, end);
    page.writeUInt32BE(body.length, at + 4);
    page.set(body, end);
    at = end + body.length;
  }
  return page;
}

/**
 * Reads a page that {@link writePage} made. Bodies are views of its bytes.
 * @throws BusError `BUS_BAD_MESSAGE` for anything else.
 */
export function readPage(data: Uint8Array, count: number): PagedReturn[] {
  const page = Buffer.from(data.buffer, data.byteOffset, data.length);
  const returns: PagedReturn[] = [];
  let at = 0;
  while (at < page.length) {
    if (page.length - at < HEAD_BYTES) throw noPage('it ends within a head');
    const jidEnd = at + HEAD_BYTES + (page[at + 1] as number);
    const minionEnd = jidEnd + (page[at + 2] as number);
    const linkEnd = minionEnd + (page[at + 3] as number);
    const end = linkEnd + page.readUInt32BE(at + 4);
    if (end > page.length) throw noPage('it ends within an event');
    returns.push({
      jid: page.toString('latin1', at + HEAD_BYTES, jidEnd) as Jid,
      minion: page.toString('utf8', jidEnd, minionEnd),
      link: linkEnd > minionEnd ? page.toString('utf8', minionEnd, linkEnd) : undefined,
      traced: ((page[at] as number) & FLAG_TRACED) !== 0,
      body: page.subarray(linkEnd, end),
    });
    at = end;
  }
  if (returns.length !== count) throw noPage(`it has ${returns.length} events`);
  return returns;
}

function noPage(why: string): BusError {
  return new BusError('BUS_BAD_MESSAGE', `no page of events: ${why}`);
}

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { StreamName } from '../subjects/names.ts';
import { STREAMS } from '../subjects/names.ts';
import { append } from './append.ts';
import { directGet } from './direct-get.ts';

/** A larger body goes by reference, others in the message itself. In bytes. */
export const INLINE_MAX_BYTES = 256 * 1024;
/** The largest body, in bytes: `brine.max_request_size` of 100 MiB and room for a head. */
export const BODY_MAX_BYTES = 104_857_600 + 1_048_576;

/** Bytes per stored piece: an eighth of `max_payload`, so that other traffic flows between. */
const CHUNK_BYTES = 1_048_576;
const CHUNKS_IN_FLIGHT = 4;
const PUT_TIMEOUT_MS = 10_000;
const GET_TIMEOUT_MS = 5_000;
/** A replica may not yet have a piece that the others have acknowledged. */
const GET_TRIES = 5;
const GET_RETRY_MS = 100;

/**
 * The spaces for bodies. Rights go by these names, so each has its own writers and readers. `req`,
 * `rep` and `qry` are kept for minutes; `evt` and `pub` as long as the referring message.
 */
export type BodySpace = 'req' | 'rep' | 'qry' | 'evt' | 'pub';

/** The stream and the subjects of a space. */
function spaceOf(space: BodySpace): { readonly stream: StreamName; readonly root: string } {
  return space === 'evt' || space === 'pub'
    ? { stream: STREAMS.keptBodies, root: `brine.kept.${space}` }
    : { stream: STREAMS.bodies, root: `brine.bodies.${space}` };
}

/**
 * Stores a body on the second connection; resolves with its reference once all of it is stored.
 * @throws BusError `BUS_BODY_TOO_LARGE`, and as `append` does.
 */
export async function putBody(bus: Bus, space: BodySpace, body: Uint8Array): Promise<string> {
  if (body.length > BODY_MAX_BYTES) throw tooLarge(body.length);
  const second = await bus.forBodies();
  const id = randomBytes(16).toString('hex');
  const { root } = spaceOf(space);
  const chunks = Math.max(1, Math.ceil(body.length / CHUNK_BYTES));
  await inParallel(chunks, async (at) => {
    const payload = body.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES);
    const subject = `${root}.${id}.${at}`;
    await append(second, { subject, payload, msgId: `${id}.${at}`, timeoutMs: PUT_TIMEOUT_MS });
  });
  return `${space}.${id}.${chunks}.${body.length}`;
}

/** The size of the body that a reference names, in bytes; undefined for an invalid reference. */
export function sizeOfReference(reference: string): number | undefined {
  return parseReference(reference)?.size;
}

/**
 * Reads a body. It refuses a reference to another space than the expected one: a sender must not
 * make this process read a body that the sender may not read itself.
 * @throws BusError `BUS_BAD_MESSAGE`, `BUS_BODY_TOO_LARGE`, `BUS_BODY_GONE`.
 */
export async function getBody(bus: Bus, space: BodySpace, reference: string): Promise<Buffer> {
  const parsed = parseReference(reference);
  if (parsed === undefined || parsed.space !== space) {
    throw new BusError('BUS_BAD_MESSAGE', `no reference to a body of ${space}`);
  }
  if (parsed.size > BODY_MAX_BYTES) throw tooLarge(parsed.size);
  const second = await bus.forBodies();
  const { stream, root } = spaceOf(space);
  const body = Buffer.alloc(parsed.size);
  await inParallel(parsed.chunks, async (at) => {
    const piece = await getChunk(second, stream, `${root}.${parsed.id}.${at}`);
    const start = at * CHUNK_BYTES;
    if (piece.length !== Math.min(CHUNK_BYTES, parsed.size - start)) {
      throw new BusError('BUS_BODY_GONE', `a piece of body ${parsed.id} has the wrong size`);
    }
    body.set(piece, start);
  });
  return body;
}

async function getChunk(bus: Bus, stream: StreamName, subject: string): Promise<Uint8Array> {
  for (let tries = 1; ; tries++) {
    const piece = await directGet(bus, stream, { lastOf: subject }, GET_TIMEOUT_MS);
    if (piece !== undefined) return piece.data;
    if (tries === GET_TRIES) throw new BusError('BUS_BODY_GONE', `${subject} is not stored`);
    await sleep(GET_RETRY_MS);
  }
}

async function inParallel(count: number, act: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: Math.min(count, CHUNKS_IN_FLIGHT) }, lane));
}

function parseReference(reference: string) {
  const match = /^(req|rep|qry|evt|pub)\.([0-9a-f]{32})\.(\d{1,4})\.(\d{1,10})$/.exec(reference);
  if (match === null) return undefined;
  const chunks = Number(match[3]);
  const size = Number(match[4]);
  if (chunks !== Math.max(1, Math.ceil(size / CHUNK_BYTES))) return undefined;
  return { space: match[1] as BodySpace, id: match[2] ?? '', chunks, size };
}

function tooLarge(size: number): BusError {
  return new BusError('BUS_BODY_TOO_LARGE', `${size} bytes are more than ${BODY_MAX_BYTES}`);
}

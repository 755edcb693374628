import { MESSAGE_VERSION } from '../connection/message-version.ts';
import { isToken, REPLY_INBOX } from '../subjects/names.ts';

/**
 * How long a claim lasts that is not renewed, in ms. A publish is answered within 3 s, and a second
 * worker needs its part of them. A second try of a request changes nothing twice.
 */
export const CLAIM_MS = 1_200;
/**
 * How much longer a claim lasts for each MiB of its request, in ms. A worker opens a request in one
 * go and sends nothing meanwhile: 50 MiB take half a second, and on a starved machine ten.
 */
const CLAIM_PER_MIB_MS = 200;
const MIB = 1_048_576;

/** How much longer than {@link CLAIM_MS} the claim of a request of this size lasts, in ms. */
export function extraClaimMs(bytes: number): number {
  return Math.floor(bytes / MIB) * CLAIM_PER_MIB_MS;
}

/** How long a worker counts as alive after its last announcement, in ms. */
export const SILENT_MS = 2_500;
/** How often a worker renews its claims, in ms: two may be lost on the way. */
export const RENEW_MS = 350;
/** How often a worker announces itself, in ms. */
export const ANNOUNCE_MS = 1_000;

/** The last token of the subject that claims and renewals go to, many in one message. */
export const RENEWALS = 'renew';

/** The head of a request, before its bytes. */
export interface RequestHead {
  /** The form of the request; default 1. */
  readonly version?: number;
  readonly id: string;
  readonly host: string;
  /** In ms since 1970. */
  readonly deadlineMs: number;
  /** The address of the peer as the gateway saw it. */
  readonly peer?: string;
  /** When the gateway had the request, in ms since 1970 with a fraction. */
  readonly receivedMs?: number;
  /**
   * Its asker reads jobs in the store. A stock CLI, at a gateway of its own host, reads the files
   * of that host: a publish of its is answered once they are written.
   */
  readonly readsStore?: boolean;
  /** The reference of a body that is not in the message. */
  readonly reference?: string;
}

/** Packs a request: u32 length of the head, the head as JSON, the body. */
export function packRequest(head: RequestHead, body: Uint8Array): Buffer {
  const text = JSON.stringify(head);
  const length = Buffer.byteLength(text);
  const packed = Buffer.allocUnsafe(4 + length + body.length);
  packed.writeUInt32BE(length, 0);
  packed.write(text, 4, 'utf8');
  packed.set(body, 4 + length);
  return packed;
}

/** Reads a request; undefined for anything that {@link packRequest} did not make. */
export function unpackRequest(
  data: Uint8Array,
): { readonly head: RequestHead; readonly body: Buffer } | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  if (bytes.length < 4) return undefined;
  const end = 4 + bytes.readUInt32BE(0);
  if (end > bytes.length) return undefined;
  let head: unknown;
  try {
    head = JSON.parse(bytes.toString('utf8', 4, end));
  } catch {
    return undefined; // the caller counts what it could not read
  }
  return isHead(head) ? { head, body: bytes.subarray(end) } : undefined;
}

/** True if only a worker of a newer release reads this request. */
export function isNewerRequest({ version }: RequestHead): boolean {
  return version !== undefined && version > MESSAGE_VERSION;
}

function isHead(value: unknown): value is RequestHead {
  if (typeof value !== 'object' || value === null) return false;
  const { id, host, deadlineMs, peer, receivedMs, reference } = value as Record<string, unknown>;
  const { version, readsStore } = value as Record<string, unknown>;
  return (
    (version === undefined || typeof version === 'number') &&
    typeof id === 'string' &&
    typeof host === 'string' &&
    typeof deadlineMs === 'number' &&
    (peer === undefined || typeof peer === 'string') &&
    (receivedMs === undefined || typeof receivedMs === 'number') &&
    (readsStore === undefined || typeof readsStore === 'boolean') &&
    (reference === undefined || typeof reference === 'string')
  );
}

/** A parsed reply subject: the gateway, and the slot there or the token of a bundle. */
export interface ReplyAddress {
  readonly gateway: string;
  readonly slot: string;
}

/**
 * Parses a reply subject; undefined for any that is not a gateway's inbox, so that a reply can
 * never be stored as an event.
 */
export function readReplyAddress(subject: string | undefined): ReplyAddress | undefined {
  if (subject === undefined || !subject.startsWith(`${REPLY_INBOX}.`)) return undefined;
  const [gateway, slot, ...more] = subject.slice(REPLY_INBOX.length + 1).split('.');
  if (gateway === undefined || slot === undefined || more.length > 0) return undefined;
  return isToken(gateway) && isToken(slot) ? { gateway, slot } : undefined;
}

/** A worker's message to a gateway about one try. */
export type WorkerMessage =
  | { readonly kind: 'refuse' }
  | { readonly kind: 'ask-grant' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'reply'; readonly trace?: string; readonly body: Uint8Array }
  | { readonly kind: 'reply-elsewhere'; readonly trace?: string; readonly reference: string };

const REFUSE = 0x4e; // N
const ASK_GRANT = 0x47; // G
const DROP = 0x44; // D
const REPLY = 0x52; // R
const REPLY_ELSEWHERE = 0x46; // F

/** Messages that are the same for every request. */
export const MESSAGES = {
  refuse: Buffer.from([REFUSE]),
  askGrant: Buffer.from([ASK_GRANT]),
  drop: Buffer.from([DROP]),
} as const;

/**
 * Packs a reply: `R`, u8 length of the trace note, the note, the body. The note names the spans
 * that the worker records; a note above 255 bytes is left out.
 */
export function packReply(body: Uint8Array, trace = ''): Buffer {
  return packMessage(REPLY, trace, body);
}

/** Packs a reply whose body was put elsewhere. */
export function packReplyElsewhere(reference: string, trace = ''): Buffer {
  return packMessage(REPLY_ELSEWHERE, trace, Buffer.from(reference));
}

/** Reads a worker's message; undefined for anything else. */
export function readMessage(data: Uint8Array): WorkerMessage | undefined {
  switch (data[0]) {
    case REFUSE:
      return { kind: 'refuse' };
    case ASK_GRANT:
      return { kind: 'ask-grant' };
    case DROP:
      return { kind: 'drop' };
    case REPLY: {
      const { trace, rest } = afterTrace(data);
      return { kind: 'reply', body: rest, ...trace };
    }
    case REPLY_ELSEWHERE: {
      const { trace, rest } = afterTrace(data);
      const reference = Buffer.from(rest).toString('latin1');
      return { kind: 'reply-elsewhere', reference, ...trace };
    }
    default:
      return undefined;
  }
}

function packMessage(kind: number, trace: string, rest: Uint8Array): Buffer {
  const noted = Buffer.byteLength(trace);
  const length = noted > 255 ? 0 : noted;
  const message = Buffer.allocUnsafe(2 + length + rest.length);
  message[0] = kind;
  message[1] = length;
  message.write(trace, 2, length, 'utf8');
  message.set(rest, 2 + length);
  return message;
}

function afterTrace(data: Uint8Array): {
  readonly trace: { readonly trace?: string };
  readonly rest: Uint8Array;
} {
  const end = 2 + (data[1] ?? 0);
  const trace = Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8', 2, end);
  return { trace: trace === '' ? {} : { trace }, rest: data.subarray(end) };
}

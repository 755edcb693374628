/** Requests that belong to no job and whose spans are recorded. */
export type RequestKind = 'login' | 'pillar' | 'event' | 'query';

/**
 * A worker's note with its answer about the spans that are recorded. Without it the gateway records
 * none: a request's hops are recorded all or not at all.
 */
export type TraceNote =
  | { readonly kind: 'return'; readonly jid: string; readonly minion: string }
  | {
      readonly kind: 'publish';
      readonly jid: string;
      /** See `publishingPart` of the job library. */
      readonly piece?: string | undefined;
      /** The asking command records the root. */
      readonly askerTraces: boolean;
      readonly link?: string | undefined;
    }
  | { readonly kind: RequestKind };

const KINDS: ReadonlySet<string> = new Set(['login', 'pillar', 'event', 'query']);

/** Most bytes of a note. */
export const TRACE_NOTE_MAX = 255;

/** Packs a note. */
export function packTraceNote(note: TraceNote): string {
  switch (note.kind) {
    case 'return':
      return `${note.jid} ${note.minion}`;
    case 'publish':
      return `+${note.jid} ${note.askerTraces ? 1 : 0} ${note.piece ?? ''} ${note.link ?? ''}`;
    default:
      return `=${note.kind}`;
  }
}

/** Reads a note; undefined for anything that {@link packTraceNote} did not make. */
export function readTraceNote(text: string): TraceNote | undefined {
  if (text.startsWith('=')) {
    const kind = text.slice(1);
    return KINDS.has(kind) ? { kind: kind as RequestKind } : undefined;
  }
  if (!text.startsWith('+')) {
    const gap = text.indexOf(' ');
    const [jid, minion] = [text.slice(0, gap), text.slice(gap + 1)];
    return gap <= 0 || minion === '' ? undefined : { kind: 'return', jid, minion };
  }
  const [jid, asker, piece, link] = text.slice(1).split(' ');
  if (!jid) return undefined;
  const more = { piece: piece === '' ? undefined : piece, link: link === '' ? undefined : link };
  return { kind: 'publish', jid, askerTraces: asker === '1', ...more };
}

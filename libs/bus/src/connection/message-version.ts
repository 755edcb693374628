/**
 * The form of messages on NATS that this release writes. A message without the header has form 1.
 *
 * A release writes a form that the release before reads. So both may run side by side during an
 * upgrade. A new form is read in one release and written from the next one on.
 */
export const MESSAGE_VERSION: number = 1;

/**
 * The newest form that this release reads in a stream. Form 2 adds pages of events
 * (`events/page.ts`) and changes nothing else.
 */
export const NEWEST_READ = 2;

/** The header that carries the form of a message. */
export const VERSION_HEADER = 'Brine-Version';

/** A reader gives back a message of a newer form for this long: another process may read it. */
export const NEWER_RETRY_MS = 5_000;

/** After this many tries (an hour) the message is skipped. */
export const NEWER_TRIES_MAX = 720;

/** True if a stored message is of a form that only a newer release reads. */
export function isNewer(header: (name: string) => string): boolean {
  const text = header(VERSION_HEADER);
  return text !== '' && !(Number(text) <= NEWEST_READ);
}

/**
 * The newest form of messages on NATS that this release reads, and the one that it writes. A
 * message that says none is of form 1.
 *
 * A release reads this form and the one before, and writes what the release before it reads: so
 * both may run side by side while one takes over. A form that the release before can not read is
 * read in one release and written from the next one on.
 */
export const MESSAGE_VERSION: number = 1;

/** The header of messages of the streams. */
export const VERSION_HEADER = 'Brine-Version';

/** What a reader can not read yet goes to another of its name, or to itself once it is replaced. */
export const NEWER_RETRY_MS = 5_000;

/** So often that is waited for, an hour: then nothing newer is coming, and it moves aside. */
export const NEWER_TRIES_MAX = 720;

/** Whether a stored message is of a form that only a newer release reads. */
export function isNewer(header: (name: string) => string): boolean {
  const text = header(VERSION_HEADER);
  return text !== '' && !(Number(text) <= MESSAGE_VERSION);
}

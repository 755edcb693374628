/**
 * The work failed after the other master was stopped. The cause is what failed; the message follows
 * the text of the cause, and names what does not run now.
 */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

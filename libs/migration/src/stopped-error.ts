/**
 * The move failed after the other master was stopped. `cause` is the failure. The message is
 * appended to the text of the cause and names the master that is down.
 */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

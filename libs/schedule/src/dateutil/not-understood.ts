/** A text that is no time; who reads it says of which text. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

/** A text that is not a time; the caller adds the text. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

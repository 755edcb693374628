/** As {@link quote}, except that `$NAME` stays a variable of the environment. */
export function quoteUnlessVariable(text: string): string {
  return /^\$[A-Z][A-Z0-9_]*$/.test(text) ? text : quote(text);
}

/** A text in the format of the NATS server. @throws RangeError for one that cannot be quoted */
export function quote(text: string): string {
  if (/["\\\n\r]/.test(text)) throw new RangeError(`cannot be quoted for NATS: ${text}`);
  return `"${text}"`;
}

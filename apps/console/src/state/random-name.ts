const BYTES = 16;

/** A name that nothing else has. `crypto.randomUUID` is not there over plain HTTP. */
export function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

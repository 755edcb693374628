import type { SecretForm } from './forms.ts';

/** A secret in some bytes, and the first form that it has there. */
export type Kept = Pick<SecretForm, 'secret' | 'form'>;

/** Returns the secrets in some bytes. */
export function storesWhat(bytes: Uint8Array, forms: readonly SecretForm[]): Kept[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = new Map<string, Kept>();
  for (const { secret, form, bytes: sought } of forms) {
    if (!found.has(secret) && buffer.includes(sought)) found.set(secret, { secret, form });
  }
  return [...found.values()];
}

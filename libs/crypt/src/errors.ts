/** The faults of keys, seals and signatures. Stable, since callers branch on them. */
export type CryptErrorCode =
  | 'SALT_CRYPT_KEY'
  | 'SALT_CRYPT_MAC'
  | 'SALT_CRYPT_NONCE'
  | 'SALT_CRYPT_LENGTH'
  | 'SALT_CRYPT_ALGORITHM'
  | 'SALT_CRYPT_PADDING'
  | 'SALT_CRYPT_BOX';

/** The error of this library. `code` names the fault, `cause` is the error below it, if any. */
export class CryptError extends Error {
  override readonly name = 'CryptError';
  readonly code: CryptErrorCode;

  constructor(code: CryptErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

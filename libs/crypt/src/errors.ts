/** What can be wrong with keys, seals and signatures; stable, for callers that branch on it. */
export type CryptErrorCode =
  | 'SALT_CRYPT_KEY'
  | 'SALT_CRYPT_MAC'
  | 'SALT_CRYPT_NONCE'
  | 'SALT_CRYPT_LENGTH'
  | 'SALT_CRYPT_ALGORITHM'
  | 'SALT_CRYPT_PADDING'
  | 'SALT_CRYPT_BOX';

/** Every failure of this library. `code` names the condition, `cause` what lay below it, if any. */
export class CryptError extends Error {
  override readonly name = 'CryptError';
  readonly code: CryptErrorCode;

  constructor(code: CryptErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Why a minion can not continue, or why a request failed. */
export type MinionErrorCode =
  | 'SALT_MINION_REJECTED'
  | 'SALT_MINION_FINGER'
  | 'SALT_MINION_ALGORITHM'
  | 'SALT_MINION_SIGN_IN'
  | 'SALT_MINION_REQUEST'
  /** The master answers with a refusal. */
  | 'SALT_MINION_REFUSED';

// Salt: salt/defaults/exitcodes.py EX_NOPERM; salt/crypt.py exits 42 for a wrong fingerprint.
const EXIT_CODES: Readonly<Partial<Record<MinionErrorCode, number>>> = {
  SALT_MINION_REJECTED: 77,
  SALT_MINION_FINGER: 42,
  SALT_MINION_ALGORITHM: 1,
};

/** An operating error of the minion. */
export class MinionError extends Error {
  override readonly name = 'MinionError';
  readonly code: MinionErrorCode;

  constructor(code: MinionErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** The exit code of the process for this error; undefined if trying again may help. */
  get exitCode(): number | undefined {
    return EXIT_CODES[this.code];
  }
}

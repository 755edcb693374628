/** Why a command does nothing, or no more: one line that says what to do. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  /** `PORTS_TAKEN`: another process has what the command needs. */
  readonly code: 'REFUSED' | 'PORTS_TAKEN';

  constructor(message: string, code: RefusedError['code'] = 'REFUSED') {
    super(message);
    this.code = code;
  }
}

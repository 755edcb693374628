/** A command refuses to start or continue. The message is one line and names the remedy. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  /** `PORTS_TAKEN`: another process uses what the command needs. */
  readonly code: 'REFUSED' | 'PORTS_TAKEN';

  constructor(message: string, code: RefusedError['code'] = 'REFUSED') {
    super(message);
    this.code = code;
  }
}

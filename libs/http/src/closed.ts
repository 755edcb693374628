import type { HttpReply } from './http-listener.ts';

/** Calls once the answer is sent or its peer is gone; at once if the peer is gone already. */
export function whenClosed({ raw }: HttpReply, call: () => void): void {
  if (isClosed(raw)) call();
  else raw.once('close', call);
}

/** HTTP/1.1 has the first, and HTTP/2 the second. */
function isClosed(raw: { readonly closed?: boolean; readonly stream?: object }): boolean {
  if (raw.closed === true) return true;
  const { stream } = raw;
  return stream !== undefined && (stream as { readonly destroyed?: boolean }).destroyed === true;
}

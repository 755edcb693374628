export type { AesEnvelope, ClearEnvelope, Envelope } from './envelope.ts';
export {
  aesEnvelope,
  checkLoad,
  clearEnvelope,
  clearReply,
  DEFAULT_ENC_ALGO,
  DEFAULT_SIG_ALGO,
  peekEnvelope,
  readEnvelope,
  refusalReply,
  signedReply,
} from './envelope.ts';
export { eventStamp, packEvent, restampEvent, splitEvent, toBinMap } from './event.ts';
export type { IpcFraming } from './ipc.ts';
export { ipcFrame, IpcReader } from './ipc.ts';
export type { Publication } from './publication.ts';
export { publicationEnvelope, readPublication } from './publication.ts';
export { minionOfSealed } from './sealed-envelope.ts';

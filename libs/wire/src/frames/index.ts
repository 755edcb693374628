export {
  DEFAULT_ENC_ALGO,
  DEFAULT_SIG_ALGO,
  aesEnvelope,
  checkLoad,
  clearEnvelope,
  clearReply,
  peekEnvelope,
  readEnvelope,
  refusalReply,
  signedReply,
} from './envelope.ts';
export type { AesEnvelope, ClearEnvelope, Envelope } from './envelope.ts';
export { packEvent, restampEvent, splitEvent, toBinMap } from './event.ts';
export { IpcReader, ipcFrame } from './ipc.ts';
export type { IpcFraming } from './ipc.ts';
export { publicationEnvelope, readPublication } from './publication.ts';
export type { Publication } from './publication.ts';

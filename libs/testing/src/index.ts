export { encodeMessage, ZmtpPeer } from './zmtp.ts';

export type { ZmtpPeerOptions } from './zmtp.ts';

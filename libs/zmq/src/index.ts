export { tcpEndpoint } from './endpoint.ts';
export { ZmqError } from './errors.ts';
export { masterAddress, MasterLink } from './master-link.ts';
export { PublishServer } from './publish-server.ts';
export { RequestClient } from './request-client.ts';
export { RequestServer } from './request-server.ts';
export { Subscriber } from './subscriber.ts';
export { ThinPeer } from './thin-peer.ts';
export { encodeMessage, ZmtpError } from './zmtp/frames.ts';

export type { ZmqErrorCode } from './errors.ts';
export type { MasterLinkOptions, MasterPublications, MasterRequests } from './master-link.ts';
export type { PublishServerOptions, PublishServerStats } from './publish-server.ts';
export type { RequestClientOptions, RequestOptions } from './request-client.ts';
export type {
  RequestServerOptions,
  RequestServerStats,
  ZmqPeer,
  ZmqRequest,
} from './request-server.ts';
export type { SubscriberOptions } from './subscriber.ts';
export type { ThinPeerOptions } from './thin-peer.ts';

export { tcpEndpoint } from './endpoint.ts';
export { ZmqError } from './errors.ts';
export { masterAddress, MasterLink } from './master-link.ts';
export { PublishServer } from './publish-server.ts';
export { RequestClient } from './request-client.ts';
export { RequestServer } from './request-server.ts';
export { Subscriber } from './subscriber.ts';
export { ThinPeer } from './thin-peer.ts';
export { encodeMessage } from './zmtp/frames.ts';

export type { PublishServerOptions } from './publish-server.ts';
export type { RequestServerOptions, ZmqPeer, ZmqRequest } from './request-server.ts';

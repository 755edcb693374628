export { IpcError } from './errors.ts';
export { EventClient, fireEvent, LocalEvent } from './event-client.ts';
export { EventPublisher } from './event-publisher.ts';
export { EventReceiver } from './event-receiver.ts';
export { checkSocketPath, MAX_SOCKET_PATH_BYTES } from './listen.ts';

export type { IpcErrorCode } from './errors.ts';
export type { EventClientOptions, FireOptions } from './event-client.ts';
export type { EventPublisherOptions, EventPublisherStats } from './event-publisher.ts';
export type { EventReceiverOptions, EventReceiverStats } from './event-receiver.ts';
export type { HeldSocket } from './listen.ts';

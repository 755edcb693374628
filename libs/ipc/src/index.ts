export { IpcError } from './errors.ts';
export { EventClient, fireEvent, LocalEvent } from './event-client.ts';
export { EventPublisher } from './event-publisher.ts';
export { EventReceiver } from './event-receiver.ts';
export type { BoundSocket } from './listen.ts';
export { checkSocketPath } from './listen.ts';

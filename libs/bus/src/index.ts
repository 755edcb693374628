export { AesEpochs } from './aes-epochs.ts';
export { WaitingLine } from './waiting-line.ts';

export type { AesEpoch } from './aes-epochs.ts';
export { Asides, handleEach } from './asides.ts';
export type { Aside, AsideCount } from './asides.ts';
export { AuditWriter } from './audit-writer.ts';
export type { AuditRow } from './audit-writer.ts';
export { Bucket } from './bucket.ts';
export type { BucketEntry } from './bucket.ts';
export { BucketWatch } from './bucket-watch.ts';
export type { WatchOptions } from './bucket-watch.ts';
export type { Appended } from './append.ts';
export { BODY_MAX_BYTES, INLINE_MAX_BYTES } from './bodies.ts';
export { CommitWatch, tellCommitted } from './committed.ts';
export { Bus, connectBus } from './connect.ts';
export type { BusOptions, BusStatus } from './connect.ts';
export { ensureStreams, waitForStreams } from './ensure-streams.ts';
export type { StreamLimits } from './ensure-streams.ts';
export { BusError } from './errors.ts';
export type { BusCode } from './errors.ts';
export { escapeKey, splitKey, unescapeKey } from './escape.ts';
export type { BucketKey } from './escape.ts';
export { EventReader } from './event-reader.ts';
export type { EventReaderOptions } from './event-reader.ts';
export { EventWriter } from './events.ts';
export type { EventToAppend } from './events.ts';
export type { JobRecord } from './job-record.ts';
export {
  BUCKETS,
  EVENT_KINDS,
  REQUEST_CLASSES,
  SERVER_NAME,
  SERVICE_NAMES,
  STREAMS,
} from './names.ts';
export type {
  BucketName,
  EventKind,
  PublicationKind,
  RequestClass,
  ServiceName,
  StreamName,
} from './names.ts';
export { natsConf } from './nats-server/conf.ts';
export type { NatsClusterOptions, NatsConfOptions, SyncInterval } from './nats-server/conf.ts';
export { resolveNatsServer } from './nats-server/resolve.ts';
export type { ResolveOptions } from './nats-server/resolve.ts';
export { startNatsServer } from './nats-server/start.ts';
export type { NatsServer, StartNatsOptions } from './nats-server/start.ts';
export { NATS_FLOOR } from './nats-server/version.ts';
export type { Expiry, RequestOutcome, RequestToSend } from './pending-request.ts';
export { PublicationReader } from './publication-reader.ts';
export type { PublicationReaderOptions } from './publication-reader.ts';
export { readPublicationTimes } from './publication-times.ts';
export type { PublicationTime, PublicationTimes } from './publication-times.ts';
export { PublicationWriter } from './publications.ts';
export type { Again, AppendedJob, Marker } from './publications.ts';
export type { Published, PublishedBase } from './published.ts';
export { readStray } from './read-stray.ts';
export type { KeepStray, Stray, StrayMessage } from './stray.ts';
export { readServers } from './servers.ts';
export type { Servers } from './servers.ts';
export { ask, serve } from './queries.ts';
export type { Answering, QueryHandler } from './queries.ts';
export {
  claimRequestId,
  REQUEST_MEMORY_MS,
  REQUEST_UNHEARD_MS,
  requestAnswered,
  serveRequestIds,
} from './request-ids.ts';
export type { RequestClaim } from './request-ids.ts';
export { serveStalled, tellStalled } from './stalled-record.ts';
export type { StalledRequest } from './stalled-record.ts';
export type { Stall } from './suspects.ts';
export { RequestReceiver } from './request-receiver.ts';
export type { Answer, IncomingRequest, RequestHandler } from './incoming-request.ts';
export type { RequestReceiverOptions } from './request-receiver.ts';
export { RequestSender } from './request-sender.ts';
export type { ClassLimit, ClassStats, RequestSenderStats } from './in-hand.ts';
export type { RequestSenderOptions } from './request-sender.ts';
export { forgetMinion } from './forget-minion.ts';
export { hearSent, tellSent } from './sent.ts';
export type { Sent } from './sent.ts';
export type { StoredEvent } from './stored-event.ts';
export type { ReadFrom } from './stream-reader.ts';
export { readerLags } from './stream-readers.ts';
export type { StreamReaderLag } from './stream-readers.ts';
export { streamUsage, trimStreams } from './trim-streams.ts';
export type { StreamUsage, Trimmed } from './trim-streams.ts';
export { waitWritten } from './written.ts';
export type { WrittenWait } from './written.ts';
export type { Waiting } from './waiting-line.ts';

export {
  buildAuth,
  buildAuthAccept,
  buildAuthVerdict,
  parseAuth,
  parseAuthAnswer,
} from './auth.ts';
export type { AuthAccept, AuthAnswer, AuthRequest, AuthVerdict } from './auth.ts';
export { parseFileReceive, parseServeFile } from './file.ts';
export { parseMineEntry } from './mine.ts';
export { buildMinionEvent, buildMinionEvents, parseMinionEvent } from './minion-event.ts';
export type { MinionEventLoad } from './minion-event.ts';
export {
  buildPillar,
  buildPrivateData,
  buildPrivateReply,
  buildSignedPrivate,
  parsePrivateData,
  parsePrivateReply,
  parseSignedPrivate,
} from './pillar.ts';
export {
  buildErrorReply,
  buildNewJob,
  buildPublish,
  buildPublishReply,
  buildPublishedJob,
  parsePublish,
  parsePublishedJob,
} from './publish.ts';
export type { PublishRequest, PublishedJob } from './publish.ts';
export { buildReturn } from './return.ts';
export { buildSyndicReturn, parseSyndicReturn } from './syndic-return.ts';
export type { SyndicJob } from './syndic-return.ts';

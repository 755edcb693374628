export { getFromMine, knownMinions } from '../aes/mine.ts';
export { recordInner } from '../audit-records.ts';
export type { Caller, ClearRequest } from '../clear/caller.ts';
export { expectedMinions } from '../clear/expected-minions.ts';
export type { CallIdentity } from '../clear/inner-calls.ts';
export {
  callerOf,
  InnerCallRefusedError,
  isJudged,
  judgeInner,
  judgeLater,
  nameOfCall,
} from '../clear/inner-calls.ts';
export { callerNow, keptCaller } from '../clear/kept-caller.ts';
export type { KeyAct } from '../clear/key-acts.ts';
export { changeKeys, installKey, listKeys, matchKeys, textsOfKeys } from '../clear/key-acts.ts';
export { publishFor } from '../clear/publish.ts';
export { announce, fireOutcome, runBetweenEvents, RUNNERS_MAX } from '../clear/special.ts';
export { RunIsKnownError } from '../errors.ts';
export type {
  Admission,
  BatchOrder,
  EndedBatches,
  KnownBatch,
  MasterFunctions,
  RunUnderWay,
} from '../ports/ports.ts';
export { freeJid } from './free-jid.ts';

export { Answerer } from './answer.ts';
export { MasterUnavailableError } from './errors.ts';
export type { AuditRecord } from './ports/audit-port.ts';
export type { FunctionCall, FunctionOutcome, MasterFunctions } from './ports/function-ports.ts';
export type { AccessRules, Logins, TokenRecord, Tokens } from './ports/login-ports.ts';
export type { Mines } from './ports/mine-ports.ts';
export type {
  AesKeys,
  Answer,
  Autosign,
  Events,
  EventToAppend,
  JobQueries,
  MasterKey,
  MasterOptsReply,
  MasterPorts,
  MasterRules,
  MinionData,
  MinionKey,
  MinionKeys,
  Pillars,
  Publications,
  RefusedWork,
  SessionKeys,
  StoredMinionData,
  StoredMinionKey,
  Syndics,
  UserKeys,
} from './ports/ports.ts';
export type { Begun, ExternalTops, Once, ServedPorts } from './ports/served-ports.ts';
export type { AnswerAbout, ReturnToTrace } from './ports/trace-ports.ts';

export { FILES_ACT, followFileActs } from './files/file-acts.ts';
export { exposeMetrics } from './metrics/metrics.ts';
export type { MasterEdges, OpenedMaster } from './open-master.ts';
export { MASTER_EDGES, openMaster } from './open-master.ts';
export type { LocalRequest } from './own-requests.ts';
export { answerLocally } from './own-requests.ts';
export { AskedPresence, PRESENCE_QUESTIONS } from './presence/asked-presence.ts';
export { presenceQuestion, questionJid } from './presence/presence-question.ts';
export { askedPython, servePython } from './python.ts';

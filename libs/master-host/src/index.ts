export { ownNatsUrl, ownPostgresUrl, runningMaster, supervisorState } from './state-dir.ts';

import type { EncAlgo, SigAlgo } from '@brine/crypt';

/** The options of the minion; times in seconds, as in Salt. */
export interface MinionSettings {
  readonly id: string;
  readonly publishPort: number;
  readonly authTimeout: number;
  readonly authTries: number;
  readonly acceptanceWaitTime: number;
  readonly acceptanceWaitTimeMax: number;
  readonly rejectedRetry: boolean;
  readonly masterFinger: string;
  readonly hashType: string;
  readonly encryptionAlgorithm: EncAlgo;
  readonly signingAlgorithm: SigAlgo;
  readonly requestChannelTimeout: number;
  readonly requestChannelTries: number;
  readonly returnRetryTimer: number;
  readonly returnRetryTimerMax: number;
  readonly returnRetryTries: number;
  readonly signPubMessages: boolean;
  readonly minionJidQueueHwm: number;
  readonly processCountMax: number;
  readonly enableLegacyStartupEvents: boolean;
  readonly startEventGrains: readonly string[];
  readonly disableModules: readonly string[];
}

/** What the decision to trace a return depends on. */
export interface ReturnToTrace {
  readonly jid: string;
  readonly minion: string;
  /** It says itself that it failed. */
  readonly failed: boolean;
  /** When the gateway had it, in unix ms; undefined where it did not say. */
  readonly receivedMs: number | undefined;
}

/** What was answered, for its trace. */
export type AnswerAbout =
  | {
      readonly kind: 'publish';
      readonly jid: string;
      readonly piece?: string;
      readonly link?: string;
      /** The asking command records the root of the job's trace itself. */
      readonly askerTraces?: boolean;
    }
  | {
      readonly kind: 'return';
      readonly jid: string;
      readonly minion: string;
      readonly failed: boolean;
      readonly link?: string;
      readonly traced: boolean;
      /** It was stored before. */
      readonly again: boolean;
    }
  | {
      readonly kind: 'login' | 'pillar' | 'event' | 'query';
      readonly minion?: string;
      readonly link?: string;
    };

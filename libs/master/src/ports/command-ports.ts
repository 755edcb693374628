/** What is kept of a command that its client may send again. */
export interface CommandRecord {
  readonly jid: string;
  /** Names what the command asks for. */
  readonly body: string;
  /** True once its job is published. */
  readonly isDone: boolean;
}

/**
 * Commands that their clients may send again, whatever died in between: each is one job. A record
 * is kept for a day. Each method rejects with MasterUnavailableError while the hot state is
 * unreachable, or has no room.
 */
export interface Commands {
  /** Undefined for a new command. */
  find(key: string): Promise<CommandRecord | undefined>;
  /** Records that a command begins, unless it has begun; resolves with the record that is kept. */
  begin(key: string, command: Omit<CommandRecord, 'isDone'>): Promise<CommandRecord>;
  /** Records that its job is published. */
  done(key: string, command: Omit<CommandRecord, 'isDone'>): Promise<void>;
}

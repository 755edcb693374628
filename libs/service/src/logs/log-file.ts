import { appendFileSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The path of a log and its rotation. */
export interface LogFileOptions {
  readonly path: string;
  /** Size at which the file is rotated; 0: never (Salt: log_rotate_max_bytes). */
  readonly maxBytes: number;
  /** Old files kept (Salt: log_rotate_backup_count). */
  readonly backups: number;
  /** Called once per trouble. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Appends lines to a file. Each write opens it again, so logrotate may move or empty it.
 * A full disk or a missing directory is reported once and never thrown.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #troubled = false;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#guard(() => mkdirSync(dirname(options.path), { recursive: true }));
  }

  write(text: string): void {
    this.#guard(() => {
      this.#turnOver(text.length);
      appendFileSync(this.#options.path, text, { mode: 0o640 });
      this.#troubled = false;
    });
  }

  #turnOver(comingBytes: number): void {
    const { path, maxBytes, backups } = this.#options;
    if (maxBytes <= 0) return;
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size === 0 || size + comingBytes <= maxBytes) return;
    if (backups <= 0) return rmSync(path, { force: true });
    for (let age = backups; age > 0; age -= 1) {
      const older = age === 1 ? path : `${path}.${age - 1}`;
      if (statSync(older, { throwIfNoEntry: false })) renameSync(older, `${path}.${age}`);
    }
  }

  #guard(body: () => void): void {
    try {
      body();
    } catch (error) {
      if (!this.#troubled) this.#options.onTrouble(error);
      this.#troubled = true;
    }
  }
}

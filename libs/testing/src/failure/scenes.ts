import { setTimeout as sleep } from 'node:timers/promises';

/** Longest wait for the report on one scene, in ms. */
const REPORT_MS = 20_000;
/** The share of that for each of its parts. */
const PARTS_SHARE = 0.75;

/** A directory with processes of a test, and a report on both. */
export interface Scene {
  readonly dir: string;
  /** Asks the running processes and reads the remains; each part may take this long. */
  report(withinMs: number): Promise<string>;
  removeDir(): Promise<void>;
}

/** The settings from the test runner. */
export interface SceneSettings {
  /** True if something has failed since the file began. */
  readonly hasFailed: () => boolean;
  readonly print: (text: string) => void;
  /** The directories of reported scenes stay. */
  readonly keep: boolean;
  readonly reportMs?: number;
}

/**
 * The scenes of the current test file. It keeps a closed scene's directory until the verdict on its
 * test is known. Without {@link Scenes.watch}, directories are removed at once and nothing is
 * printed.
 */
export class Scenes {
  readonly #open = new Set<Scene>();
  readonly #closed = new Set<Scene>();
  readonly #reported = new Set<Scene>();
  #settings: SceneSettings | undefined;

  /** Called as a test file begins. */
  watch(settings: SceneSettings): void {
    this.#settings = settings;
  }

  /** Adds a new scene. */
  add(scene: Scene): void {
    this.#open.add(scene);
  }

  /** Called before the processes of a scene end: later they can not answer. */
  async closing(scene: Scene): Promise<void> {
    if (this.#settings?.hasFailed() === true) await this.#report(scene, this.#settings);
  }

  /** Called when the processes of a scene have ended. */
  async closed(scene: Scene): Promise<void> {
    if (!this.#open.delete(scene)) return;
    this.#closed.add(scene);
    if (this.#settings === undefined) await this.#clear();
  }

  /** Called after a test: reports if it failed, then removes the closed scenes. */
  async testEnded(failed: boolean): Promise<void> {
    const settings = this.#settings;
    if (failed && settings !== undefined) {
      const scenes = [...this.#closed, ...this.#open];
      await Promise.all(scenes.map((scene) => this.#report(scene, settings)));
    }
    await this.#clear();
  }

  /** Called after a file: a hook may have failed outside of any test. */
  async fileEnded(): Promise<void> {
    await this.testEnded(this.#settings?.hasFailed() === true);
    this.#settings = undefined;
  }

  async #report(scene: Scene, { print, keep, reportMs = REPORT_MS }: SceneSettings): Promise<void> {
    if (this.#reported.has(scene)) return;
    this.#reported.add(scene);
    const late = new AbortController();
    const text = await Promise.race([
      // The finished parts are printed, even if one of them takes all the time.
      scene.report(reportMs * PARTS_SHARE).catch((error: unknown) => `no report: ${String(error)}`),
      sleep(reportMs, `no report within ${reportMs} ms`, { signal: late.signal }),
    ]);
    late.abort();
    const hint = 'removed; npm test -- --only NAME --keep keeps it';
    print(`\n--- ${scene.dir} (${keep ? 'kept' : hint})\n${text}\n---\n`);
  }

  async #clear(): Promise<void> {
    const closed = [...this.#closed];
    this.#closed.clear();
    const kept = this.#settings?.keep === true ? this.#reported : new Set<Scene>();
    await Promise.all(closed.filter((scene) => !kept.has(scene)).map((scene) => scene.removeDir()));
  }
}

/** The scenes of this process. */
export const scenes = new Scenes();

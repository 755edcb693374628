import type { PillarMinion, PillarOptions, PillarPorts } from '@brine/pillar';
import type { BlockingCalls, BlockingEnd } from '@brine/python-host';
import type { SaltMap } from '@brine/wire';
import type { PillarModules } from './pillar-modules.ts';
import type { ThreadData } from './thread-start.ts';

/** A task of a thread. `asked` is msgpack of a map with the minion's id, grains and the like. */
export type RenderTask =
  /** A pillar, or its top file alone: with `saltenv`, `pillarenv`, `override` and `ext`. */
  | { readonly kind: 'pillar' | 'top'; readonly asked: Uint8Array }
  /** States of a minion from the saltclass tree in a directory. */
  | { readonly kind: 'classes'; readonly asked: Uint8Array; readonly tree: string }
  /** A file of states: with `sls`, `path` and `defaults`, which are more names for its template. */
  | { readonly kind: 'sls'; readonly asked: Uint8Array }
  /** A function of templates: with `fun`, `args` and `kwargs`. */
  | { readonly kind: 'function'; readonly asked: Uint8Array };

/** A task on its way to a thread. */
export interface RenderJob {
  readonly task: RenderTask;
  /** The way back to the worker, for the questions of `questions.ts`. */
  readonly way: BlockingEnd;
  /** True if the way leads to modules in Python too. */
  readonly hasPython: boolean;
}

/** The result of a task as msgpack, and the lines for the log. */
export interface RenderResult {
  readonly packed: Uint8Array;
  readonly log: readonly string[];
}

/** The context of a task in its thread. */
export interface Render {
  readonly asked: SaltMap;
  readonly minion: PillarMinion;
  readonly data: ThreadData;
  readonly options: PillarOptions;
  readonly outside: PillarPorts['outside'];
  readonly python: PillarModules | undefined;
  readonly calls: BlockingCalls;
  readonly log: PillarPorts['log'];
}

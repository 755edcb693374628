import type { SaltProcess } from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import { type Reactions, reactionsIn, type ReactorCase } from './reactor-cases.ts';

const SEEN_MS = 30_000;
const OVER_MS = 60_000;

/** How events are fired at a master, and how they are followed. */
export interface FiredAt {
  /** `state.event`, whose lines are in its log. */
  readonly follower: SaltProcess;
  readonly fire: (tag: string, json: string) => Promise<void>;
  /** Whether all that was fired was reacted to, where the master can tell. */
  readonly isOver?: () => Promise<boolean>;
  /** Resolves when the follower has printed all that was there before, where that can be told. */
  readonly fence?: () => Promise<void>;
  /** Nothing more comes of an event after so long without a line, ms. */
  readonly quietMs: number;
}

/** Fires the event of each case, one after the other, and tells what came of it. */
export async function fireCases(
  cases: readonly ReactorCase[],
  at: FiredAt,
  onDone: (name: string, reactions: Reactions) => void = () => undefined,
): Promise<Record<string, Reactions>> {
  const found: Record<string, Reactions> = {};
  for (const { name, tag, data } of cases) {
    const before = (await at.follower.log()).length;
    await at.fire(tag, JSON.stringify(data));
    const lines = async (): Promise<string> => (await at.follower.log()).slice(before);
    const isSeen = async (): Promise<boolean> => (await lines()).includes(`${tag}\t`);
    await until(`the event of ${name} is seen`, isSeen, { withinMs: SEEN_MS });
    const { isOver } = at;
    if (isOver !== undefined) {
      await until(`${name} is over`, isOver, { withinMs: OVER_MS });
      // One look reads the streams one after another, and work may pass it between two of them.
      await until(`${name} is still over`, isOver, { withinMs: OVER_MS });
    }
    await at.fence?.();
    const reactions = reactionsIn(await settled(lines, at.quietMs));
    found[name] = reactions;
    onDone(name, reactions);
  }
  return found;
}

async function settled(lines: () => Promise<string>, quietMs: number): Promise<string> {
  for (let text = await lines(); ;) {
    await growsOld('the last event', quietMs);
    const now = await lines();
    if (now === text) return text;
    text = now;
  }
}

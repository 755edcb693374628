import { draw } from './draw.ts';
import type { TopSource } from './source.ts';
import { EVERY_S, firstState, type View, VIEWS } from './state.ts';

/** Wide, and with room for all rows: the text goes to a file. */
const SHEET = { columns: 200, rows: 500, color: false };

/** All views of `brine top`, for files and mails. `isAnswered`: the master answered. */
export async function pictures(
  source: TopSource,
  title: string,
): Promise<{ readonly text: string; readonly isAnswered: boolean }> {
  const shown: string[] = [];
  let isAnswered = true;
  for (const view of VIEWS) {
    shown.push(await picture(view));
    // The other views would wait for the same timeout.
    if (!isAnswered) break;
  }
  return { text: `${shown.join('\n\n')}\n`, isAnswered };

  async function picture(view: View): Promise<string> {
    const state = { ...firstState(EVERY_S * 1_000), view, row: -1 };
    const data = await source.look(state);
    isAnswered &&= typeof data.cluster !== 'string';
    const { text } = draw(state, data, SHEET, title);
    // Remove the line with the keys.
    return text.split('\n').slice(0, -1).join('\n');
  }
}

/** Default time between two queries, in s. */
export const EVERY_S = 2;

/** The views, in the order of the keys 1 to 4. */
export const VIEWS = ['services', 'queues', 'jobs', 'minions'] as const;

/** One of them. */
export type View = (typeof VIEWS)[number];

/** The user's choices. */
export interface TopState {
  readonly view: View;
  /** The marked row, from 0. */
  readonly row: number;
  readonly paused: boolean;
  readonly everyMs: number;
  /** Only rows with this text are shown. */
  readonly filter: string;
  /** True while keys go to the filter. */
  readonly typing: boolean;
  readonly help: boolean;
  /** The job whose silent minions are shown. */
  readonly jid: string | undefined;
}

/** A key as the terminal's line editor names it. */
export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
}

/** An action of a key beyond a change of the state. */
export type Wish = 'quit' | 'suspend' | 'refresh' | undefined;

const EVERY_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000] as const;
const FILTER_MAX = 40;

/** The initial state. */
export function firstState(everyMs: number): TopState {
  return {
    view: 'services',
    row: 0,
    paused: false,
    everyMs,
    filter: '',
    typing: false,
    help: false,
    jid: undefined,
  };
}

/** Applies a key. `jids` are the jobs of the rows on screen, `page` the rows of a page. */
export function pressed(
  state: TopState,
  key: Key,
  seen: { readonly rows: number; readonly page: number; readonly jids: readonly string[] },
): { readonly state: TopState; readonly wish: Wish } {
  if (key.ctrl === true && key.name === 'c') return { state, wish: 'quit' };
  if (key.ctrl === true && key.name === 'z') return { state, wish: 'suspend' };
  if (state.typing) return { state: typed(state, key), wish: undefined };
  const last = Math.max(0, seen.rows - 1);
  const to = (row: number): TopState => ({ ...state, row: Math.min(last, Math.max(0, row)) });
  const view = (step: number): TopState => {
    const at = (VIEWS.indexOf(state.view) + step + VIEWS.length) % VIEWS.length;
    return shown(state, VIEWS[at] ?? state.view);
  };
  switch (key.name) {
    case 'q':
      return { state, wish: 'quit' };
    case 'up':
    case 'k':
      return { state: to(state.row - 1), wish: undefined };
    case 'down':
    case 'j':
      return { state: to(state.row + 1), wish: undefined };
    case 'pageup':
      return { state: to(state.row - seen.page), wish: undefined };
    case 'pagedown':
      return { state: to(state.row + seen.page), wish: undefined };
    case 'home':
      return { state: to(0), wish: undefined };
    case 'end':
      return { state: to(last), wish: undefined };
    case 'tab':
    case 'right':
      return { state: view(1), wish: 'refresh' };
    case 'left':
      return { state: view(-1), wish: 'refresh' };
    case 'return':
    case 'enter':
      return opened(state, seen.jids);
    case 'escape':
      return { state: { ...state, jid: undefined, help: false, filter: '' }, wish: undefined };
    case 'r':
      return { state, wish: 'refresh' };
    case 'h':
      return { state: { ...state, help: !state.help }, wish: undefined };
    case 'p':
    case 'space':
      return { state: { ...state, paused: !state.paused }, wish: undefined };
    default:
      return ofSign(state, key.sequence);
  }
}

function ofSign(
  state: TopState,
  sign: string | undefined,
): { readonly state: TopState; readonly wish: Wish } {
  const view = VIEWS[Number(sign) - 1];
  if (view !== undefined) return { state: shown(state, view), wish: 'refresh' };
  switch (sign) {
    case '?':
      return { state: { ...state, help: !state.help }, wish: undefined };
    case '/':
      return { state: { ...state, typing: true, filter: '' }, wish: undefined };
    case '+':
      return { state: { ...state, everyMs: nextTime(state.everyMs, 1) }, wish: undefined };
    case '-':
      return { state: { ...state, everyMs: nextTime(state.everyMs, -1) }, wish: undefined };
    default:
      return { state, wish: undefined };
  }
}

function shown(state: TopState, view: View): TopState {
  return { ...state, view, row: 0, jid: undefined, help: false };
}

function opened(
  state: TopState,
  jids: readonly string[],
): { readonly state: TopState; readonly wish: Wish } {
  if (state.view !== 'jobs' || state.jid !== undefined) return { state, wish: undefined };
  const jid = jids[state.row];
  return jid === undefined
    ? { state, wish: undefined }
    : { state: { ...state, jid, row: 0 }, wish: 'refresh' };
}

/** Keys while the filter is typed. */
function typed(state: TopState, key: Key): TopState {
  const { filter } = state;
  if (key.name === 'return' || key.name === 'enter') return { ...state, typing: false, row: 0 };
  if (key.name === 'escape') return { ...state, typing: false, filter: '', row: 0 };
  if (key.name === 'backspace') return { ...state, filter: filter.slice(0, -1), row: 0 };
  const sign = key.sequence ?? '';
  if (key.ctrl === true || !/^[\x20-\x7e]$/.test(sign)) return state;
  return { ...state, filter: (filter + sign).slice(0, FILTER_MAX), row: 0 };
}

/** `-` asks more often, `+` less. */
function nextTime(everyMs: number, step: 1 | -1): number {
  const at = EVERY_MS.findIndex((one) => one >= everyMs);
  const index = (at === -1 ? EVERY_MS.length - 1 : at) + step;
  return EVERY_MS[Math.min(EVERY_MS.length - 1, Math.max(0, index))] ?? everyMs;
}

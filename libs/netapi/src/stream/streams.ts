import type { Followed } from '../live/followers.ts';
import { type PlaceLimits, Places } from '../places.ts';
import { StreamFollower, type StreamParts, type StreamSpec } from './stream-follower.ts';
import type { Topics } from './topics.ts';

/** Topics that few ask for, of one process. Each event costs them some work. */
const RARE_PLACES: PlaceLimits = {
  all: 2_000,
  ofOne: 100,
  text: 'Too many streams have topics of their own.',
  retryAfterS: 30,
};

/** Windows of lists, of one process: up to 180 KB each, and some ms of a second. */
const COMPUTED_PLACES: PlaceLimits = {
  ...RARE_PLACES,
  all: 500,
  ofOne: 50,
  text: 'Too many lists are followed in streams.',
};

/** The streams of this process. */
export class Streams {
  readonly #parts: StreamParts;
  readonly #places = new Places(RARE_PLACES);
  readonly #computed = new Places(COMPUTED_PLACES);
  readonly #rare = new Map<string, { readonly leave: () => void; streams: number }>();
  readonly #beginning = new Set<StreamFollower>();

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /**
   * Takes the places of a stream of this user; the returned function gives them back.
   * @throws NetapiError 503
   */
  enter(user: string, topics: Omit<Topics, 'names' | 'refused'>): () => void {
    const leave = this.#parts.followers.enter(user);
    if (!topics.isRare) return leave;
    try {
      const leaveForm = this.#enterForm(user, topics);
      return () => {
        leave();
        leaveForm();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Streams with the same topics have their places together: their events are judged once. Each
   * window has a place.
   */
  #enterForm(user: string, { form, computed }: Omit<Topics, 'names' | 'refused'>): () => void {
    const name = `${user}\n${form.name}`;
    const known = this.#rare.get(name) ?? {
      leave: computed > 0 ? this.#computed.enter([user], computed) : this.#places.enter([user]),
      streams: 0,
    };
    known.streams += 1;
    this.#rare.set(name, known);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      known.streams -= 1;
      if (known.streams > 0) return;
      this.#rare.delete(name);
      known.leave();
    };
  }

  /** Begins a stream; what it missed is sent by and by. */
  open(spec: StreamSpec, onFault: (error: unknown) => void): Followed {
    const follower = new StreamFollower(spec, this.#parts);
    this.#beginning.add(follower);
    void follower
      .begin()
      .catch((error: unknown) => {
        onFault(error);
        follower.end();
      })
      .finally(() => this.#beginning.delete(follower));
    return follower;
  }

  /** Ends the streams that do not follow yet. */
  close(): void {
    for (const follower of this.#beginning) follower.end();
  }
}

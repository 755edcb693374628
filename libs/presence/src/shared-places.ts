import type { Connections, OwnerParts } from './connections.ts';
import type { Inquiry, Place, Round, Shortage } from './known.ts';
import {
  mayBeElsewhere,
  missingAt,
  newConnectionsAt,
  settle,
  settleAs,
  surelyMissingAt,
} from './place-counts.ts';
import { EXTRA_TRIES_MAX } from './questions.ts';

/** At an address with more minions than this none is asked: connections alone count there. */
export const SHARED_ASKED_MAX = 1_000;
/** A new connection has so long to prove its minion, before minions are asked. */
const PROOF_MS = 5_000;
/** A minion of several shared addresses is lost when it was silent for so long. */
const SILENT_MS = 1_800_000;
/** Between two rounds of questions at a place that had no result, and at most. */
const ROUND_PAUSE_MS = 60_000;
const ROUND_PAUSE_MAX_MS = 600_000;

/** Verdicts on places with several minions, where a connection may be of any of them. */
export class SharedPlaces {
  readonly #parts: OwnerParts;
  readonly #connections: Connections;

  constructor(parts: OwnerParts, connections: Connections) {
    this.#parts = parts;
    this.#connections = connections;
  }

  /** Fewer connections than minions: all are asked, and silent ones are lost. */
  judgeShortage(place: Place): void {
    const { certainty, questions } = this.#parts;
    const { shortage } = place;
    if (shortage === undefined || certainty.knownMs < shortage.dueMs || !questions.isAllowed) {
      return;
    }
    const { round } = shortage;
    if (round === undefined) {
      this.#begin(place, shortage);
      return;
    }
    const asked = round.extraTries > 0 ? round.again : round.asked;
    if (asked.some((inquiry) => questions.isWaiting(inquiry))) return;
    const silent = asked.filter((inquiry) => isSilentAt(place, inquiry));
    if (silent.length > 0 && this.#mayHaveComeBack(place, round, silent)) return;
    // Only those can be lost that were missing when the round began, and ever since.
    if (silent.length > Math.min(round.missing, surelyMissingAt(place))) {
      // Some of them are connected and can not answer. Nothing shows which.
      this.#pause(place);
      shortage.dueMs = place.pausedUntilMs;
      shortage.round = undefined;
      return;
    }
    this.#end(place, round, asked, silent);
  }

  /** New connections while minions are absent: are they back? */
  judgeComeback(place: Place): void {
    const { certainty, places, questions } = this.#parts;
    if (place.comebackMs === undefined || certainty.now - place.comebackMs < PROOF_MS) return;
    const absent = [...place.minions].filter(({ state }) => !state.present);
    places.endComeback(place);
    if (!questions.isAllowed) {
      if (absent.length > newConnectionsAt(place)) return;
      for (const minion of absent) this.#connections.happens(minion, 'arrives');
    } else if (absent.length <= SHARED_ASKED_MAX) {
      for (const minion of absent) if (questions.mayAsk(minion)) questions.ask(minion);
    }
    settle(place);
  }

  /** Asks all minions: one that proved itself a moment ago may have lost its connection since. */
  #begin(place: Place, shortage: Shortage): void {
    const { questions } = this.#parts;
    if (place.present > SHARED_ASKED_MAX) return;
    const minions = [...place.minions].filter((one) => one.state.present && questions.mayAsk(one));
    shortage.round = {
      isDisturbed: false,
      unexplained: missingAt(place, place.present) - place.excused,
      missing: surelyMissingAt(place),
      counts: place.counts.map(({ by, count }) => [by, count]),
      asked: minions.map((minion) => questions.ask(minion)),
      again: [],
      extraTries: 0,
    };
  }

  /** The silent minions of a round are lost; the others are there. */
  #end(place: Place, round: Round, asked: readonly Inquiry[], silent: readonly Inquiry[]): void {
    const { places } = this.#parts;
    if (silent.length === 0) this.#pause(place);
    else place.idleRounds = 0;
    places.endShortage(place);
    const unanswered = asked.filter(({ state }) => state === 'unanswered');
    // A connection that ended meanwhile may be of a minion that had answered before.
    if (!round.isDisturbed) {
      place.excused += Math.max(0, round.unexplained - unanswered.length);
      settleAs(place, round.counts);
    }
    const { excused } = place;
    for (const { minion } of silent) this.#connections.happens(minion, 'is lost');
    for (const inquiry of unanswered) this.#noteSilence(inquiry);
    place.excused = excused;
    places.compare(place);
  }

  /** A minion that may have its connection at another shared address is lost after long silence. */
  #noteSilence({ minion, firstMs = 0 }: Inquiry): void {
    if (!minion.state.present || minion.provenMs > firstMs) return;
    minion.silentMs ??= firstMs;
    const silentForMs = this.#parts.certainty.now - minion.silentMs;
    if (silentForMs >= SILENT_MS) this.#connections.happens(minion, 'is lost');
  }

  /** A connection that came since the last question may be of a minion that did not answer it. */
  #mayHaveComeBack(place: Place, round: Round, silent: readonly Inquiry[]): boolean {
    const askedMs = Math.min(...silent.map(({ lastMs }) => lastMs ?? 0));
    if (place.openedMs < askedMs || round.extraTries === EXTRA_TRIES_MAX) return false;
    round.extraTries += 1;
    round.again = silent.map((inquiry) => this.#parts.questions.askOnceMore(inquiry));
    return true;
  }

  /** A round had no result: the next one is later each time. */
  #pause(place: Place): void {
    place.idleRounds += 1;
    const pauseMs = ROUND_PAUSE_MS * 2 ** Math.min(place.idleRounds, 10);
    place.pausedUntilMs = this.#parts.certainty.now + Math.min(pauseMs, ROUND_PAUSE_MAX_MS);
  }
}

/** A minion that makes requests is alive, whatever keeps it from an answer. */
function isSilentAt(place: Place, { state, firstMs = 0, minion }: Inquiry): boolean {
  const { places, provenMs } = minion;
  return state === 'unanswered' && provenMs <= firstMs && !mayBeElsewhere(places, place);
}

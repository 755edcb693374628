import { isMinionId } from '@brine/job';
import {
  pack,
  Refusal,
  RefusalText,
  type SaltMap,
  type SaltValue,
  textOf,
  WireError,
} from '@brine/wire';
import {
  type AesEnvelope,
  type ClearEnvelope,
  type Envelope,
  readEnvelope,
  refusalReply,
} from '@brine/wire/frames';
import { runAesCommand } from './aes/commands.ts';
import { sealPillar } from './aes/pillar.ts';
import { type UsualReturn, usualReturn } from './aes/return.ts';
import { recordProof } from './audit-records.ts';
import { openAtOnce, type OpenedRequest, openRequest } from './channel.ts';
import { answerAuth } from './clear/auth.ts';
import type { ClearRequest } from './clear/caller.ts';
import { runClearCommand } from './clear/commands.ts';
import { MasterUnavailableError } from './errors.ts';
import type { Answer, AnswerAbout, MasterPorts, Request } from './ports/ports.ts';
import { ProvenLogIns } from './proven-logins.ts';
import { TokenChecks } from './token-check.ts';
import { isTooMuchWork, refuseWork } from './too-much-work.ts';

/** Commands that carry returns. */
const RETURNS: ReadonlySet<SaltValue | undefined> = new Set(['_return', '_syndic_return']);

/**
 * Answers requests as a Salt master does: envelope, version, key, checks, command, seal
 * (salt/channel/server.py `handle_message`). Never rejects: a fault becomes the safe answer for its
 * kind of request, and is reported through `onFault`.
 */
export class Answerer {
  readonly #ports: MasterPorts;
  readonly #onFault: (fault: unknown, request: Request) => void;
  readonly #tokens = new TokenChecks();
  readonly #logIns = new ProvenLogIns();

  constructor(ports: MasterPorts, onFault: (fault: unknown, request: Request) => void) {
    this.#ports = ports;
    this.#onFault = onFault;
  }

  answer(request: ClearRequest): Promise<Answer> {
    let envelope: Envelope;
    try {
      const { minimumAuthVersion } = this.#ports.rules;
      envelope = readEnvelope(request.body, { minimumAuthVersion });
    } catch (cause) {
      return Promise.resolve(this.#refuseFrame(cause, request));
    }
    switch (envelope.enc) {
      case 'aes':
        return this.#aes(request, envelope);
      case 'clear':
        return this.#clear(request, envelope);
    }
  }

  #refuseFrame(cause: unknown, request: Request): Answer {
    if (!(cause instanceof Refusal)) {
      this.#onFault(cause, request);
      return reply(RefusalText.HANDLING);
    }
    this.#ports.count('refused_frame');
    return { kind: 'reply', body: refusalReply(cause) };
  }

  async #clear(request: ClearRequest, envelope: ClearEnvelope): Promise<Answer> {
    const isAuth = envelope.load.get('cmd') === '_auth';
    try {
      if (isAuth) {
        const { load, version } = envelope;
        const { body, accepted } = await answerAuth(this.#ports, request, load, version);
        if (accepted) this.#logIns.began(textOf(load, 'id') ?? '');
        return { kind: 'reply', body, about: aboutLogin(load) };
      }
      const result = await runClearCommand(this.#ports, request, envelope.load);
      return {
        ...reply(result.value),
        ...(result.about === undefined ? {} : { about: result.about }),
      };
    } catch (fault) {
      this.#fault(fault, request);
      // A stock minion survives `bad load` to a log-in; most other texts would end its log-ins.
      return reply(isAuth ? RefusalText.BAD_LOAD : RefusalText.HANDLING);
    }
  }

  /** The usual return waits for nothing before its event is appended. */
  #aes(request: Request, envelope: AesEnvelope): Promise<Answer> {
    try {
      const opened = openAtOnce(this.#ports, this.#tokens, envelope);
      if (opened === undefined) return this.#open(request, envelope);
      this.#noteProof(request, opened, envelope.version);
      const usual = usualReturn(this.#ports, request, opened);
      if (usual === undefined) return this.#command(request, envelope, opened);
      return this.#usualReturn(request, opened, usual);
    } catch (fault) {
      this.#fault(fault, request);
      return Promise.resolve({ kind: 'drop' });
    }
  }

  async #open(request: Request, envelope: AesEnvelope): Promise<Answer> {
    let opened: OpenedRequest | string;
    try {
      opened = await openRequest(this.#ports, this.#tokens, envelope);
    } catch (fault) {
      this.#fault(fault, request);
      return { kind: 'drop' };
    }
    if (typeof opened === 'string') return reply(opened);
    this.#noteProof(request, opened, envelope.version);
    return this.#command(request, envelope, opened);
  }

  async #command(
    request: Request,
    { version, encAlgo, sigAlgo }: AesEnvelope,
    opened: OpenedRequest,
  ): Promise<Answer> {
    const { body, scan, minion, nonce, tokenChecked } = opened;
    try {
      const asked = { request, body, scan, minion, tokenChecked, version };
      const result = await runAesCommand(this.#ports, asked);
      const about = result.about === undefined ? {} : { about: result.about };
      if (result.reply === 'private') {
        const channel = { minion: minion ?? '', nonce, encAlgo, sigAlgo };
        const pillar = await sealPillar(this.#ports, channel, result.value);
        return { kind: 'reply', body: pillar, ...about };
      }
      return { kind: 'reply', body: sealed(opened, result.value), ...about };
    } catch (fault) {
      if (isTooMuchWork(fault)) {
        refuseWork(this.#ports, request, { cmd: scan.value('cmd'), who: minion });
        return { kind: 'reply', body: sealed(opened, '') };
      }
      this.#fault(fault, request);
      // Data that were not stored are not acknowledged: the peer sends them again.
      const isReturn = RETURNS.has(scan.value('cmd')) && !(fault instanceof WireError);
      if (fault instanceof MasterUnavailableError || isReturn) return { kind: 'drop' };
      return { kind: 'reply', body: sealed(opened, '') };
    }
  }

  /** As `_return` in the table of commands, in fewer steps: nearly all requests are these. */
  async #usualReturn(
    request: Request,
    opened: OpenedRequest,
    { event, about }: UsualReturn,
  ): Promise<Answer> {
    const ports = this.#ports;
    const start = performance.now();
    try {
      await ports.events.append(event);
      ports.count('returns');
      return { kind: 'reply', body: sealed(opened, null), about };
    } catch (fault) {
      this.#fault(fault, request);
      return { kind: 'drop' };
    } finally {
      ports.handled?.('_return', performance.now() - start);
    }
  }

  /** Only the minion's private key can make the token inside a sealed request. */
  #noteProof(request: Request, opened: OpenedRequest, version: number): void {
    const { minion: id, tokenChecked, scan } = opened;
    if (id === undefined) return;
    const jid = scan.text('cmd') === '_return' ? scan.text('jid') : undefined;
    // Without a token any minion that knows the master's AES key could have sent it.
    this.#ports.proven?.(id, tokenChecked ? request.peer : undefined, jid);
    if (!tokenChecked) return;
    if (!this.#logIns.proves(id, version, this.#ports.now())) return;
    recordProof(this.#ports, request, { id, version });
  }

  #fault(fault: unknown, request: Request): void {
    this.#ports.count(
      fault instanceof MasterUnavailableError ? 'answer_unavailable' : 'answer_fault',
    );
    this.#onFault(fault, request);
  }
}

function aboutLogin(load: SaltMap): AnswerAbout {
  const minion = textOf(load, 'id');
  const link = textOf(load, 'traceparent');
  return {
    kind: 'login',
    ...(minion !== undefined && isMinionId(minion) ? { minion } : {}),
    ...(link === undefined ? {} : { link }),
  };
}

/** The answer to a sealed request. */
function sealed({ crypticle, nonce }: OpenedRequest, value: SaltValue): Buffer {
  return pack(crypticle.seal(pack(value), nonce === undefined ? {} : { nonce }));
}

function reply(value: SaltValue): { kind: 'reply'; body: Buffer } {
  return { kind: 'reply', body: pack(value) };
}

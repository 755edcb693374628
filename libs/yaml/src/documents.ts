import { Composer, type Document, parseAllDocuments, Parser } from 'yaml';
import { YamlLoadError } from './errors.ts';

/** What stands open at a time: a level of what is loaded opens two at most. */
const OPEN_MAX = 160;

const OPTIONS = {
  version: '1.1',
  schema: 'failsafe',
  // Its own search for doubled keys compares each with each.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

class TooDeepError extends YamlLoadError {
  constructor() {
    super('nested too deep');
  }
}

/**
 * Refuses what is nested deeper than the limit, while it is read. The composer calls itself for
 * each level, and a regular expression that is first used where the stack nearly ends does not
 * throw: V8 ends the process.
 */
class ShallowParser extends Parser {
  override *next(source: string): ReturnType<Parser['next']> {
    yield* super.next(source);
    if (this.stack.length > OPEN_MAX) throw new TooDeepError();
  }
}

/** Ends at the first fault: making an error of each of thousands is what takes long. */
class StrictComposer extends Composer {
  constructor() {
    super(OPTIONS);
    const onError = (_at: unknown, code: string, message: string, isWarning?: boolean): void => {
      // Tags that the parser does not know are judged where they stand.
      if (isWarning !== true || code !== 'TAG_RESOLVE_FAILED') throw new YamlLoadError(message);
    };
    Object.assign(this, { onError });
  }
}

/**
 * The first two documents of a text, the first without a fault.
 * @throws YamlLoadError, with the line of the fault if that is wanted
 */
export function documentsIn(text: string, showsLines: boolean): readonly Document.Parsed[] {
  const found: Document.Parsed[] = [];
  try {
    for (const document of new StrictComposer().compose(new ShallowParser().parse(text))) {
      found.push(document);
      if (found.length === 2) return found;
    }
    refuseFaults(found);
  } catch (error) {
    if (showsLines && !(error instanceof TooDeepError)) {
      const documents = parseAllDocuments(text, { ...OPTIONS, prettyErrors: true });
      refuseFaults(Array.isArray(documents) ? documents : []);
    }
    throw error;
  }
  return found;
}

function refuseFaults([document]: readonly Document.Parsed[]): void {
  const warning = document?.warnings.find(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  const fault = document?.errors[0] ?? warning;
  if (fault !== undefined) throw new YamlLoadError(fault.message, { cause: fault });
}

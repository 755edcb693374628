// A rule of ESLint: names, comments and texts have none of the words that the glossary replaces.
import { readFileSync } from 'node:fs';

const GLOSSARY = new URL('../../docs/internals/glossary.md', import.meta.url);
const TABLE = /^## Words that are replaced$[^]*?^\| --- \| --- \|\n((?:\|.*\|\n)+)/m;

/**
 * The words and phrases that the glossary replaces, with what it puts in their place. Rows whose
 * first cell has a bracket hold only for one sense of a word: their judge is the reader.
 * @returns {ReadonlyMap<string, string>}
 */
export function replacedWords(glossary = readFileSync(GLOSSARY, 'utf8')) {
  const rows = TABLE.exec(glossary)?.[1];
  if (rows === undefined) throw new Error('the glossary has no table of words that are replaced');
  const cells = rows.split('\n').map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(
    cells
      .filter(([, not = '', but]) => but !== undefined && !not.includes('('))
      .flatMap(([, not, but]) => not.split(', ').map((word) => [word, but])),
  );
}

const REPLACED = replacedWords();
const PHRASES = new RegExp(`\\b(?:${[...REPLACED.keys()].join('|')})\\b`, 'gi');

/** What a text quotes is not its own: code in backticks, words in quotation marks. */
const QUOTED = /`[^`]*`|"[^"\n]*"/g;

const wordsOfName = (name) => name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];

/** @type {import('eslint').Rule.RuleModule} */
const plainWords = {
  meta: {
    type: 'suggestion',
    schema: [{ type: 'object', properties: { names: { type: 'boolean' } } }],
    messages: { replaced: '"{{word}}": {{instead}} (docs/internals/glossary.md).' },
  },
  create(context) {
    const [{ names = true } = {}] = context.options;
    const report = (where, word) =>
      context.report({
        ...where,
        messageId: 'replaced',
        data: { word, instead: REPLACED.get(word.toLowerCase()) },
      });
    const checkText = (node, text) => {
      // A key, a subject or an option is no sentence.
      if (!text.includes(' ')) return;
      for (const [word] of text.replace(QUOTED, '').matchAll(PHRASES)) report({ node }, word);
    };
    const checkName = (node) => {
      if (!names || (node?.type !== 'Identifier' && node?.type !== 'PrivateIdentifier')) return;
      for (const word of wordsOfName(node.name)) {
        if (REPLACED.has(word.toLowerCase())) report({ node }, word);
      }
    };
    const checkKey = ({ key, computed }) => computed || checkName(key);
    return {
      Program(program) {
        for (const { loc, value } of context.sourceCode.getAllComments()) {
          for (const [word] of value.replace(QUOTED, '').matchAll(PHRASES)) report({ loc }, word);
        }
        const scopes = [context.sourceCode.getScope(program)];
        for (let scope = scopes.pop(); scope !== undefined; scope = scopes.pop()) {
          scopes.push(...scope.childScopes);
          for (const { identifiers } of scope.variables) identifiers.forEach(checkName);
        }
      },
      Literal: (node) => typeof node.value === 'string' && checkText(node, node.value),
      TemplateElement: (node) => checkText(node, node.value.raw),
      MethodDefinition: checkKey,
      PropertyDefinition: checkKey,
      TSMethodSignature: checkKey,
      TSPropertySignature: checkKey,
    };
  },
};

export default { rules: { 'plain-words': plainWords } };

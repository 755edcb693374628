import { bind, wholeNumber } from './arguments.ts';
import { JinjaError, valueError } from './errors.ts';
import { type CallArguments, truth } from './python/values.ts';

/** Words of one text at most. */
const WORDS_MAX = 100_000;

/** Jinja: jinja2/constants.py. */
const WORDS = `
a ac accumsan ad adipiscing aenean aliquam aliquet amet ante aptent arcu at auctor augue
bibendum blandit class commodo condimentum congue consectetuer consequat conubia convallis cras
cubilia cum curabitur curae cursus dapibus diam dictum dictumst dignissim dis dolor donec dui
duis egestas eget eleifend elementum elit enim erat eros est et etiam eu euismod facilisi
facilisis fames faucibus felis fermentum feugiat fringilla fusce gravida habitant habitasse hac
hendrerit hymenaeos iaculis id imperdiet in inceptos integer interdum ipsum justo lacinia lacus
laoreet lectus leo libero ligula litora lobortis lorem luctus maecenas magna magnis malesuada
massa mattis mauris metus mi molestie mollis montes morbi mus nam nascetur natoque nec neque
netus nibh nisi nisl non nonummy nostra nulla nullam nunc odio orci ornare parturient pede
pellentesque penatibus per pharetra phasellus placerat platea porta porttitor posuere potenti
praesent pretium primis proin pulvinar purus quam quis quisque rhoncus ridiculus risus rutrum
sagittis sapien scelerisque sed sem semper senectus sit sociis sociosqu sodales sollicitudin
suscipit suspendisse taciti tellus tempor tempus tincidunt torquent tortor tristique turpis
ullamcorper ultrices ultricies urna ut varius vehicula vel velit venenatis vestibulum vitae
vivamus viverra volutpat vulputate
`
  .trim()
  .split(/\s+/);

type Chance = () => number;

/**
 * Text that fills a page: paragraphs, of HTML unless `html` is false (Jinja: jinja2/utils.py
 * generate_lorem_ipsum).
 * @throws JinjaError for paragraphs without words, or of more than 100,000 words together
 */
export function loremIpsum(args: CallArguments, chance: Chance): string {
  const names = ['n', 'html', 'min', 'max'];
  const defaults = { n: 5, html: true, min: 20, max: 100 };
  const given = bind('generate_lorem_ipsum', names, args, defaults);
  const [count, least, most] = ['n', 'min', 'max'].map((name) => wholeNumber(given.get(name)));
  if (count === undefined || least === undefined || most === undefined || count < 1) return '';
  const range = most - least;
  if (range < 1) {
    throw valueError(`empty range for randrange() (${least}, ${most}, ${range})`);
  }
  if (count * Math.max(most, 1) > WORDS_MAX) throw new JinjaError('Limit', 'too many words');
  const paragraphs = Array.from({ length: count }, () =>
    paragraph(least + below(range, chance), chance),
  );
  if (!truth(given.get('html'))) return paragraphs.join('\n\n');
  return paragraphs.map((text) => `<p>${text}</p>`).join('\n');
}

function paragraph(length: number, chance: Chance): string {
  const words: string[] = [];
  let last = -1;
  let begins = true;
  let comma = 0;
  let stop = 0;
  for (let at = 0; at < length; at += 1) {
    last = another(last, chance);
    let word = WORDS[last] ?? '';
    if (begins) word = word.charAt(0).toUpperCase() + word.slice(1);
    begins = false;
    if (at - 3 - below(5, chance) > comma) {
      comma = at;
      stop += 2;
      word += ',';
    }
    if (at - 10 - below(10, chance) > stop) {
      comma = at;
      stop = at;
      word += '.';
      begins = true;
    }
    words.push(word);
  }
  const text = words.join(' ');
  if (text.endsWith('.')) return text;
  return `${text.endsWith(',') ? text.slice(0, -1) : text}.`;
}

function below(limit: number, chance: Chance): number {
  return Math.floor(chance() * limit);
}

/** A word that is not the one before. */
function another(last: number, chance: Chance): number {
  if (last === -1) return below(WORDS.length, chance);
  const one = below(WORDS.length - 1, chance);
  return one >= last ? one + 1 : one;
}

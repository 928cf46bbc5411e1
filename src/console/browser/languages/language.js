const KEY = 'fleet-gateway-language';

/** The names of the languages, each in that language. */
export const languages = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  it: 'Italiano',
  es: 'Español',
  nl: 'Nederlands',
};

const codeOf = (tag) => tag?.slice(0, 2).toLowerCase();
const wanted = [localStorage.getItem(KEY), ...navigator.languages].map(codeOf);
/** The language of the page: the stored choice, else the first of the browser's languages that the console has. */
export const language = wanted.find((code) => Object.hasOwn(languages, code)) ?? 'en';
/** The locale of dates and numbers, with the region if the browser has the language. */
export const locale = navigator.languages.find((tag) => codeOf(tag) === language) ?? language;
document.documentElement.lang = language;

/** Not imported: not all browsers know modules of JSON. */
const answer = await fetch(new URL(`${language}.json`, import.meta.url));
if (!answer.ok) throw new Error(`The sentences of the page did not arrive (${answer.status}).`);
const spoken = await answer.json();
const { sentences, numbers } = spoken;
/** Sentences of the language for codes of the gateway. */
export const { codes } = spoken;
const plural = new Intl.PluralRules(locale);
const number = new Intl.NumberFormat(locale);

/** Formats lists, such as “2 vehicles and 1 contract”. */
export const list = new Intl.ListFormat(locale);

/** Formats a number; `+` marks one that is a lower bound. */
export const count = (value, exact = true) => number.format(value) + (exact ? '' : '+');

const textOf = (value) => (typeof value === 'number' ? count(value) : value);
/** A sentence with its `{names}` filled in. */
export const filled = (sentence, values) => sentence.replaceAll(/\{([a-z]\w*)\}/g, (_, name) => textOf(values[name]));

/** A sentence in the language of the page; `{names}` in it stand for values. */
export const t = (sentence, values = {}) => filled(sentences[sentence] ?? sentence, values);

/** Formats a number with its noun, from `numbers` of the language. */
export function counted(value, thing, exact = true) {
  const forms = numbers[thing];
  return filled(forms[plural.select(value)] ?? forms.other, { count: count(value, exact) });
}

/** Reloads the page in another language. */
export function speak(code) {
  localStorage.setItem(KEY, code);
  location.reload();
}

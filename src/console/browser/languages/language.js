const KEY = 'fleet-gateway-language';

/** Each language in its own words. */
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
/** The language of the page: the chosen one, else the first of the browser's that there is. */
export const language = wanted.find((code) => Object.hasOwn(languages, code)) ?? 'en';
/** For dates and numbers, with the browser's region where the language is its own. */
export const locale = navigator.languages.find((tag) => codeOf(tag) === language) ?? language;
document.documentElement.lang = language;

const { sentences, numbers } = await import(`./${language}.js`);
const plural = new Intl.PluralRules(locale);
const number = new Intl.NumberFormat(locale);

/** Things as a list, such as “2 vehicles and 1 contract”. */
export const list = new Intl.ListFormat(locale);

/** A number; `+` follows one that is not exact, but the least that it can be. */
export const count = (value, exact = true) => number.format(value) + (exact ? '' : '+');

const textOf = (value) => (typeof value === 'number' ? count(value) : value);
const filled = (sentence, values) => sentence.replaceAll(/\{([a-z]\w*)\}/g, (_, name) => textOf(values[name]));

/** A sentence in the language of the page; `{names}` in it stand for values. */
export const t = (sentence, values = {}) => filled(sentences[sentence] ?? sentence, values);

/** A number of things, which `numbers` of the languages name. */
export function counted(value, thing, exact = true) {
  const forms = numbers[thing];
  return filled(forms[plural.select(value)] ?? forms.other, { count: count(value, exact) });
}

/** Shows the page anew in another language. */
export function speak(code) {
  localStorage.setItem(KEY, code);
  location.reload();
}

import htm from 'htm';
import { h } from 'preact';
import { t } from './languages/language.js';
import { translated } from './languages/template.js';

const write = htm.bind(h);
const known = new WeakMap();

/** Writes elements as a template, in the language of the page. */
export function html(parts, ...values) {
  if (!known.has(parts)) known.set(parts, translated(parts, t));
  return write(known.get(parts), ...values);
}

export { count, counted, list, locale, t } from './languages/language.js';

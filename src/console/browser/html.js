import htm from 'htm';
import { h } from 'preact';
import { t } from './languages/language.js';
import { translated } from './languages/template.js';

const write = htm.bind(h);
const known = new WeakMap();

/** Makes elements from a template, in the page's language. */
export function html(parts, ...values) {
  if (!known.has(parts)) known.set(parts, translated(parts, t));
  return write(known.get(parts), ...values);
}

export { count, counted, list, locale, t } from './languages/language.js';

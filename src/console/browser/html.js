import htm from 'htm';
import { h } from 'preact';

/** Writes elements as a template. */
export const html = htm.bind(h);

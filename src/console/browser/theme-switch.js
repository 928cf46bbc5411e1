import { useState } from 'preact/hooks';
import { html } from './html.js';

const KEY = 'fleet-gateway-theme';
const themes = {
  system: { name: 'Theme: that of your system', sign: '◐', next: 'light' },
  light: { name: 'Theme: light', sign: '☀\ufe0e', next: 'dark' },
  dark: { name: 'Theme: dark', sign: '☾', next: 'system' },
};
const { dataset } = document.documentElement;

/** Goes from one theme to the next; the browser keeps it, and theme.js sets it on the next visit. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(dataset.theme in themes ? dataset.theme : 'system');
  const { name, sign, next } = themes[theme];
  const change = () => {
    dataset.theme = next;
    if (next === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
    setTheme(next);
  };
  return html`<button type="button" class="quiet" aria-label=${name} title=${name} onClick=${change}>${sign}</button>`;
}

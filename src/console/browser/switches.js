import { useState } from 'preact/hooks';
import { html } from './html.js';
import { language, languages, speak, t } from './languages/language.js';

const KEY = 'fleet-gateway-theme';
const themes = {
  system: { name: t('Theme: that of your system'), sign: '◐', next: 'light' },
  light: { name: t('Theme: light'), sign: '☀\ufe0e', next: 'dark' },
  dark: { name: t('Theme: dark'), sign: '☾', next: 'system' },
};
const { dataset } = document.documentElement;

/** Goes from one theme to the next; the browser keeps it, and theme.js sets it on the next visit. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState((dataset.theme ?? '') in themes ? dataset.theme : 'system');
  const { name, sign, next } = themes[theme];
  const change = () => {
    dataset.theme = next;
    if (next === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
    setTheme(next);
  };
  return html`<button type="button" class="quiet" aria-label=${name} title=${name} onClick=${change}>${sign}</button>`;
}

/** All languages, each in its own words; the page is shown anew in the chosen one. */
export const LanguageSwitch = () =>
  html`<select class="language" aria-label="Language" onChange=${({ currentTarget }) => speak(currentTarget.value)}>
    ${Object.entries(languages).map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language}>${`${code.toUpperCase()}\u2003${name}`}</option>`)}
  </select>`;

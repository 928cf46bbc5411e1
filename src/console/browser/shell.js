import { useEffect, useState } from 'preact/hooks';
import { away } from './api.js';
import { leave, openFinder, places } from './finder.js';
import { html, t } from './html.js';
import { language, languages, speak } from './languages/language.js';
import { live } from './live.js';
import { hrefOf, route } from './router.js';
import { company } from './session.js';

export function Shell({ children }) {
  const [here = ''] = route.value.parts;
  // The navigation of narrow screens scrolls sideways.
  useEffect(() => document.querySelector('nav a[aria-current]')?.scrollIntoView({ block: 'nearest' }), [here]);
  return html`<a class="skip" href="#main" onClick=${(event) => [event.preventDefault(), document.getElementById('main')?.focus()]}>Skip to content</a>
    <header class="top">
      <div class="inner">
        <a class="brand" href="#/"><${Mark} />Fleet Gateway</a>
        <nav aria-label="Console">
          ${places.map(([path, name]) => html`<a key=${path} href=${hrefOf([path])} aria-current=${path === here ? 'page' : undefined}>${name}</a>`)}
        </nav>
        <div class="who">
          <button type="button" class="quiet" aria-keyshortcuts="/ Control+K Meta+K" onClick=${openFinder}>Search <kbd>/</kbd></button>
          <${Live} />
          ${company.value && html`<span class="company" title="Your company">${company.value}</span>`}
          <${LanguageSwitch} />
          <${ThemeSwitch} />
          <button type="button" class="quiet" onClick=${leave}>Sign out</button>
        </div>
      </div>
    </header>
    ${away.value && html`<p class="banner" role="alert">No connection to the gateway. What you see may be out of date; the page reconnects by itself.</p>`}
    <main id="main" tabindex="-1">${children}</main>`;
}

const Live = () =>
  html`<span class=${live.value ? 'live on' : 'live'} role="status"><i aria-hidden="true" /><span>${live.value ? t('Live') : t('Connecting')}</span></span>`;

const icon = document.querySelector('link[rel=icon]')?.getAttribute('href');
export const Mark = () => html`<img class="mark" src=${icon} alt="" />`;
const KEY = 'fleet-gateway-theme';
const themes = {
  system: { name: t('Theme: system'), sign: '◐', next: 'light' },
  light: { name: t('Theme: light'), sign: '☀\ufe0e', next: 'dark' },
  dark: { name: t('Theme: dark'), sign: '☾', next: 'system' },
};
const { dataset } = document.documentElement;

/** Switches to the next theme; the browser stores it, and theme.js applies it on the next visit. */
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

/** All languages in their own names; choosing one reloads the page. */
export const LanguageSwitch = () =>
  html`<select class="language" aria-label="Language" onChange=${({ currentTarget }) => speak(currentTarget.value)}>
    ${Object.entries(languages).map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language}>${`${code.toUpperCase()}\u2003\u2003${name}`}</option>`)}
  </select>`;

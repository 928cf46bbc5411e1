import { useEffect, useState } from 'preact/hooks';
import { away } from './api.js';
import { openFinder, places } from './finder.js';
import { html, t } from './html.js';
import { leave } from './issuer.js';
import { language, languages, speak } from './languages/language.js';
import { live } from './live.js';
import { hrefOf, route } from './router.js';
import { company } from './session.js';

export function Shell({ children }) {
  const [here = ''] = route.value.parts;
  // The navigation of narrow screens scrolls sideways.
  useEffect(() => document.querySelector('nav a[aria-current]')?.scrollIntoView({ block: 'nearest' }), [here]);
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <header class="top">
      <div class="inner">
        <a class="brand" href="#/"><${Mark} />Fleet Gateway</a>
        <nav aria-label="Console">
          ${places.map(([path, name]) => html`<a key=${path} href=${hrefOf([path])} aria-current=${path === here ? 'page' : undefined}>${name}</a>`)}
        </nav>
        <div class="who">
          <button type="button" class="quiet" aria-keyshortcuts="/ Control+K Meta+K" onClick=${openFinder}>Search <kbd>/</kbd></button>
          <${Live} />
          ${company.value && html`<span class="company" title="The company of your token">${company.value}</span>`}
          <${LanguageSwitch} />
          <${ThemeSwitch} />
          <button type="button" class="quiet" onClick=${leave}>Sign out</button>
        </div>
      </div>
    </header>
    ${
      away.value &&
      html`<p class="banner" role="alert">The gateway is away. What you see may be out of date; the page goes on by itself when it is back.</p>`
    }
    <main id="main" tabindex="-1">${children}</main>`;
}

function skip(event) {
  // The fragment of the address is the route.
  event.preventDefault();
  document.getElementById('main')?.focus();
}

const Live = () =>
  html`<span class=${live.value ? 'live on' : 'live'} role="status"><i aria-hidden="true" /><span>${live.value ? t('Live') : t('Connecting')}</span></span>`;

export const Mark = () => html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" class="ground" />
  <rect x="7" y="8" width="18" height="4" rx="2" />
  <rect x="7" y="14" width="12" height="4" rx="2" opacity=".8" />
  <rect x="7" y="20" width="7" height="4" rx="2" opacity=".6" />
</svg>`;

const KEY = 'fleet-gateway-theme';
const themes = {
  system: { name: t('Theme: that of your system'), sign: '◐', next: 'light' },
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
    ${Object.entries(languages).map(([code, name]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language}>${`${code.toUpperCase()}\u2003${name}`}</option>`)}
  </select>`;

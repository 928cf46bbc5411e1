import { eventTypes } from './event-types.js';
import { History } from './history.js';
import { html } from './html.js';
import { Listing } from './listing.js';
import { Page } from './page.js';
import { Earlier, Empty } from './parts.js';
import { route } from './router.js';
import { Search } from './search.js';

const PAGE = 50;
const searched = [{ name: 'type', label: 'Type', options: [['', 'Everything'], ...Object.entries(eventTypes)] }];
const nothing = html`<${Empty} title="Nothing happened yet"><p>Changes show here as they happen.</p><//>`;

/** What happened in a fleet, the latest first. */
export function Runs({ fleetId }) {
  const { parts, query } = route.value;
  const { type, after } = query;
  const variables = { first: PAGE, after, fleetId, ...(type && { types: [type] }) };
  const foot = (info) => html`<${Earlier} info=${info} parts=${parts} query=${query} />`;
  return html`<${Listing} label="Activity">
    <${Search} fields=${searched} parts=${parts} query=${query} />
    <${History} variables=${variables} empty=${nothing} foot=${foot} />
  <//>`;
}

/** What happened in the company. */
export const Activity = () =>
  html`<${Page} title="Activity" about="Everything that happened to your fleets, as it happens."><${Runs} /><//>`;

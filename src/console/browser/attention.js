import { vehicleColumns } from './columns.js';
import { counted, html, t } from './html.js';
import { List } from './list.js';
import { Empty, Page, Sides, Turn } from './parts.js';
import { hrefOf, route } from './router.js';
import { vehicleVerbs } from './vehicle-verbs.js';
import { vehiclesQuery } from './vehicles.js';
import { turns } from './words.js';

const actors = [['', t('All')], ...Object.entries(turns)];
const { vin, fleet, manufacturer, status, checked } = vehicleColumns;

export const filterOf = (/** @type {any} */ { actor, reason }) => ({
  eligibility: ['FAILED', 'INELIGIBLE', 'UNSUPPORTED'],
  ...(actor && { actor }),
  ...(reason && { reasonCode: reason }),
});

function reasonOf({ eligibility: { reason } }, group) {
  const { code = '', message = t('No reason is known'), actor } = reason ?? {};
  const { query } = route.value;
  const more =
    code && (query.reason ? { name: t('All reasons'), reason: '' } : { name: t('Only this reason'), reason: code });
  return {
    key: `${code} ${message}`,
    head:
      group &&
      html`<div class="row apart">
        <span>${message} ${actor && html`<${Turn} actor=${actor} />`}</span>
        <span class="dim">
          ${counted(group.length, 'vehicle')} on this page${more && html` · <a href=${hrefOf(['attention'], { actor: query.actor, reason: more.reason })}>${more.name}</a>`}
        </span>
      </div>`,
  };
}

export function Attention() {
  const { query } = route.value;
  return html`<${Page} title="Needs attention" about="Vehicles of all fleets that share no data: why, and whose turn it is.">
    <${Sides} label="Whose turn" sides=${actors} present=${query.actor} hrefFor=${(actor) => hrefOf(['attention'], { actor })} />
    <${List} label="Vehicles" what="vehicle" asks=${{ document: vehiclesQuery, filterOf, order: '-VERIFIED_AT' }}
      columns=${[vin, fleet, manufacturer, status, checked]} nameOf=${(one) => one.vin}
      groupOf=${reasonOf} verbs=${vehicleVerbs}
      empty=${() => html`<${Empty} title="All is well"><p>No vehicle waits for anybody here.</p><//>`} />
  <//>`;
}

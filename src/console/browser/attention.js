import { said } from './codes.js';
import { vehicleColumns } from './columns.js';
import { counted, html, t } from './html.js';
import { List } from './list.js';
import { Empty, Page, Sides, Turn } from './parts.js';
import { hrefOf, route } from './router.js';
import { vehicleVerbs } from './vehicle-verbs.js';
import { vehiclesQuery } from './vehicles.js';
import { attentionFilter, turns } from './words.js';

const actors = [['', t('All')], ...Object.entries(turns).filter(([actor]) => actor !== 'DRIVER')];
const { vin, fleet, manufacturer, status, checked } = vehicleColumns;

function reasonOf({ eligibility: { reason } }, group) {
  const { code = '', actor } = reason ?? {};
  const { query } = route.value;
  const more =
    code && (query.reason ? { name: t('All reasons'), reason: '' } : { name: t('Only this reason'), reason: code });
  return {
    key: code,
    head:
      group &&
      html`<div class="row apart">
        <span>${reason ? said(reason) : t('Unknown reason')} ${actor && html`<${Turn} actor=${actor} />`}</span>
        <span class="dim">
          ${counted(group.length, 'vehicle')} on this page${more && html` · <a href=${hrefOf(['attention'], { actor: query.actor, reason: more.reason })}>${more.name}</a>`}
        </span>
      </div>`,
  };
}

export function Attention() {
  const { query } = route.value;
  return html`<${Page} title="Needs attention" about="Vehicles that share no data, with the reason and who can act.">
    <${Sides} label="Who can act" sides=${actors} present=${query.actor} hrefFor=${(actor) => hrefOf(['attention'], { actor })} />
    <${List} label="Vehicles" what="vehicle" asks=${{ document: vehiclesQuery, filterOf: attentionFilter, order: '-VERIFIED_AT' }}
      columns=${[vin, fleet, manufacturer, status, checked]} nameOf=${(one) => one.vin}
      groupOf=${reasonOf} verbs=${vehicleVerbs}
      empty=${() => html`<${Empty} title="Nothing needs attention"><p>No vehicles here need action.</p><//>`} />
  <//>`;
}

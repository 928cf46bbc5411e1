import { count, html, t } from './html.js';
import { Page, Time, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { Table } from './table.js';

const manufacturersQuery = `query Manufacturers {
  manufacturers { id name provider supported }
  providers { name state since askedLastMinute oldestWaiting contracts { toActivate activatingSince toRevoke revokingSince } brands { manufacturer { id name } state since } }
}`;

const States = { OK: t('Available'), HELD_BACK: t('On hold'), NONE: t('No connection') };
const tones = { OK: 'active', HELD_BACK: 'failed', NONE: 'unsupported' };
const dash = html`<span class="dim">–</span>`;

const columns = [
  { name: t('Manufacturer'), kind: 'main', cell: ({ name }) => name },
  { name: t('Connected through'), kind: 'note', cell: ({ provider }) => provider?.name ?? dash },
  {
    name: t('State'),
    kind: 'tag',
    cell: ({ state }) => html`<span class=${`badge ${tones[state]}`}>${States[state]}</span>`,
  },
  { name: t('Since'), kind: 'when', cell: ({ since }) => (since ? html`<${Time} at=${since} />` : '') },
];

export function Manufacturers() {
  const asked = useQuery(manufacturersQuery, {}, () => false);
  const { data } = asked;
  return html`<${Page} title="Manufacturers" asked=${asked} about="Connections to manufacturers and their state.">
    ${!data && html`<${Waiting} rows=${8} />`}
    ${data && html`<${Providers} providers=${data.providers} />`}
    ${data && html`<${Table} label="Manufacturers" columns=${columns} rows=${rowsOf(data)} />`}
  <//>`;
}

function rowsOf({ manufacturers, providers }) {
  return manufacturers.map((maker) => {
    const provider = providers.find(({ name }) => name === maker.provider);
    const brand = provider?.brands.find(({ manufacturer }) => manufacturer.id === maker.id);
    const { state = 'NONE', since } = provider?.state === 'HELD_BACK' ? provider : (brand ?? provider ?? {});
    return { ...maker, provider, state: maker.supported ? state : 'NONE', since };
  });
}

const Providers = ({ providers }) => html`<ul class="list">
  ${providers.map(
    ({ name, askedLastMinute, oldestWaiting, contracts }) => html`<li key=${name} class="row apart">
      <b>${name}</b>
      <span class="dim">Requests in the last minute: ${count(askedLastMinute)}${oldestWaiting && html` · longest wait since <${Time} at=${oldestWaiting} />`}${contracts?.toActivate > 0 && html` · ${contracts.toActivate} to be activated, since <${Time} at=${contracts.activatingSince} />`}${contracts?.toRevoke > 0 && html` · ${contracts.toRevoke} to be ended, since <${Time} at=${contracts.revokingSince} />`}</span>
    </li>`,
  )}
</ul>`;

import { count, html, t } from './html.js';
import { Page, Time, Waiting, Why } from './parts.js';
import { useQuery } from './query.js';
import { Table } from './table.js';
import { serviceNames } from './words.js';

const manufacturersQuery = `query Manufacturers {
  manufacturers { id name provider supported }
  providers { name state since services { name state reason { code message actor } } askedLastMinute oldestWaiting contracts { toActivate activatingSince toRevoke revokingSince } brands { manufacturer { id name } state since } }
}`;

const troubles = { HELD_BACK: t('On hold'), FAILING: t('Failing'), NOT_CONFIGURED: t('No settings') };
const States = { OK: t('Available'), NONE: t('No connection'), ...troubles };
const tones = {
  OK: 'active',
  HELD_BACK: 'failed',
  FAILING: 'failed',
  NOT_CONFIGURED: 'unsupported',
  NONE: 'unsupported',
};
const StateBadge = ({ state }) => html`<span class=${`badge ${tones[state]}`}>${States[state]}</span>`;
const dash = html`<span class="dim">–</span>`;

const columns = [
  { name: t('Manufacturer'), kind: 'main', cell: ({ name }) => name },
  { name: t('Connected through'), kind: 'note', cell: ({ provider }) => provider?.name ?? dash },
  {
    name: t('State'),
    kind: 'tag',
    cell: StateBadge,
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
    ({ name, state, services, askedLastMinute, oldestWaiting, contracts }) => html`<li key=${name} class="row apart">
      <span><b>${name}</b> ${state !== 'OK' && html`<${StateBadge} state=${state} />`}</span>
      ${services.filter((one) => one.state === 'FAILING').map((one) => html`<span key=${one.name}>${serviceNames[one.name]}: <${Why} reason=${one.reason} /></span>`)}
      <span class="dim">Requests in the last minute: ${count(askedLastMinute)}${oldestWaiting && html` · longest wait since <${Time} at=${oldestWaiting} />`}${contracts?.toActivate > 0 && html` · ${contracts.toActivate} to be activated, since <${Time} at=${contracts.activatingSince} />`}${contracts?.toRevoke > 0 && html` · ${contracts.toRevoke} to be ended, since <${Time} at=${contracts.revokingSince} />`}</span>
    </li>`,
  )}
</ul>`;

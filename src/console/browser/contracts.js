import { EventList } from './activity.js';
import { AtManufacturer, activationStates, ContractBadge, contractColumns, contractStates, Period } from './columns.js';
import { askAgain, mayAsk, newContract, removeContracts } from './contract-verbs.js';
import { useFleetOptions } from './fleet-verbs.js';
import { html, t } from './html.js';
import { List } from './list.js';
import { Day, Empty, Fact, Page, Time, Waiting } from './parts.js';
import { useActivations, useQuery } from './query.js';
import { go, hrefOf } from './router.js';
import { byCreation } from './words.js';

const contractsQuery = `query Contracts($filter: ContractFilter, $orderBy: ContractOrder, $first: Int, $after: String, $last: Int, $before: String) {
  contracts(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount totalCountIsExact
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes { id name pack status from to vehicle { id vin } fleet { id name } activation { state reason { message actor } } }
  }
}`;

const byPeriod = {
  FROM: t('By beginning'),
  '-FROM': t('Latest beginning first'),
  TO: t('By end'),
  '-TO': t('Latest end first'),
};
const orders = Object.entries({ ...byCreation, ...byPeriod });
const { name, vehicle, fleet, pack, from, to, status, told } = contractColumns;

const aVin = /^(?=.*\d)[A-HJ-NPR-Z\d]{17}$/i;

const filterOf = ({ status, activation, fleet, name }) => ({
  ...(status && { status }),
  ...(activation && { activation }),
  ...(fleet && { fleetId: fleet }),
  ...(name && { [aVin.test(name) ? 'vin' : 'name']: name }),
});

const asks = { document: contractsQuery, filterOf, wakes: ({ type }) => /^(CONTRACT|VEHICLE|FLEET)/.test(type) };

export function Contracts() {
  useActivations();
  const states = Object.entries(activationStates);
  const filters = [
    { name: 'name', label: t('A part of the name, or a VIN'), maxlength: 255 },
    { name: 'status', label: t('Status'), options: [['', t('Any status')], ...Object.entries(contractStates)] },
    { name: 'activation', label: t('At the manufacturer'), options: [['', t('Any state there')], ...states] },
    { name: 'fleet', label: t('Fleet'), options: [['', t('Any fleet')], ...useFleetOptions()] },
    { name: 'order', label: t('Order'), options: orders },
  ];
  const make = html`<button type="button" class="primary" onClick=${() => newContract()}>New contract</button>`;
  return html`<${Page} title="Contracts" about="What ties your vehicles to packs of data services." actions=${make}>
    <${List} label="Contracts" what="contract" filters=${filters} asks=${asks}
      columns=${[name, vehicle, fleet, pack, from, to, status, told]} nameOf=${(one) => `${one.name}, ${one.vehicle.vin}`}
      verbs=${verbs} empty=${nothing} />
  <//>`;
}

const verbs = [
  { name: t('Ask again'), run: askAgain },
  { name: t('Delete …'), run: removeContracts, danger: true },
];

const nothing = ({ status, activation, fleet, name: typed }) =>
  status || activation || fleet || typed
    ? html`<${Empty} title="No contract fits"><p>None is like that. <a href="#/contracts">Show all contracts</a></p><//>`
    : html`<${Empty} title="No contracts yet">
        <p>Create one here by a VIN, on a vehicle’s page, or for all vehicles that you select in a fleet.</p>
      <//>`;

const contractQuery = `query Contract($id: ID!) {
  contract(id: $id) {
    id name description pack status from to createdAt
    vehicle { id vin } fleet { id name } manufacturer { name }
    activation { state changedAt nextAttemptAt reason { message actor } }
  }
}`;
const back = { href: '#/contracts', name: t('Contracts') };

export function Contract({ id }) {
  useActivations();
  const asked = useQuery(contractQuery, { id }, ({ type }) => type.startsWith('CONTRACT_'));
  const contract = asked.data?.contract;
  return html`<${Page} label="Contract" asked=${asked} title=${contract?.name} back=${back} about=${contract?.description}
    actions=${contract && html`<${Verbs} contract=${contract} />`}>
    ${contract ? html`<${Facts} contract=${contract} />` : html`<${Waiting} rows=${1} kind="card" />`}
    <h2>Activity</h2>
    <${EventList} filter=${{ contractId: id }} />
  <//>`;
}

const Verbs = ({ contract }) => html`
  ${mayAsk(contract) && html`<button type="button" onClick=${() => askAgain([contract])}>Ask again</button>`}
  <button type="button" onClick=${() => removeContracts([contract], () => go('#/contracts'))}>Delete …</button>`;

const Facts = ({
  contract: { pack, status, from, to, createdAt, vehicle, fleet, manufacturer, activation },
}) => html`<section class="verdict" aria-label="Contract">
  <p class="said"><${ContractBadge} status=${status} /> <span><${Period} from=${from} to=${to} /></span></p>
  <p class="said"><span class="dim">At the manufacturer</span> <${AtManufacturer} activation=${activation} /></p>
  <dl class="facts">
    <${Fact} label="Pack">${pack}<//>
    <${Fact} label="Vehicle"><a class="vin" href=${hrefOf(['vehicles', vehicle.id])}>${vehicle.vin}</a><//>
    <${Fact} label="Fleet"><a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a><//>
    <${Fact} label="Manufacturer">${manufacturer?.name ?? t('Unknown')}<//>
    <${Fact} label="Last change there"><${Time} at=${activation.changedAt} /><//>
    ${activation.nextAttemptAt && html`<${Fact} label="Asked next"><${Time} at=${activation.nextAttemptAt} /><//>`}
    <${Fact} label="Created"><${Day} at=${createdAt} /><//>
  </dl>
</section>`;

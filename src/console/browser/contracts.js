import { EventList } from './activity.js';
import { ContractBadge, contractColumns, contractStates, Period } from './columns.js';
import { newContract, removeContracts } from './contract-verbs.js';
import { useFleetOptions } from './fleet-verbs.js';
import { html, t } from './html.js';
import { List } from './list.js';
import { Day, Empty, Fact, Page, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { go, hrefOf } from './router.js';
import { byCreation } from './words.js';

const contractsQuery = `query Contracts($filter: ContractFilter, $orderBy: ContractOrder, $first: Int, $after: String, $last: Int, $before: String) {
  contracts(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    totalCount totalCountIsExact
    pageInfo { hasPreviousPage hasNextPage startCursor endCursor }
    nodes { id name pack status from to vehicle { id vin } fleet { id name } }
  }
}`;

const byPeriod = {
  FROM: t('By beginning'),
  '-FROM': t('Latest beginning first'),
  TO: t('By end'),
  '-TO': t('Latest end first'),
};
const orders = Object.entries({ ...byCreation, ...byPeriod });
const { name, vehicle, fleet, pack, from, to, status } = contractColumns;

const filterOf = (query) => ({
  ...(query.status && { status: query.status }),
  ...(query.fleet && { fleetId: query.fleet }),
});

const asks = { document: contractsQuery, filterOf, wakes: ({ type }) => /^(CONTRACT|VEHICLE|FLEET)/.test(type) };

export function Contracts() {
  const filters = [
    { name: 'status', label: t('Status'), options: [['', t('Any status')], ...Object.entries(contractStates)] },
    { name: 'fleet', label: t('Fleet'), options: [['', t('Any fleet')], ...useFleetOptions()] },
    { name: 'order', label: t('Order'), options: orders },
  ];
  const make = html`<button type="button" class="primary" onClick=${() => newContract()}>New contract</button>`;
  return html`<${Page} title="Contracts" about="What ties your vehicles to packs of data services." actions=${make}>
    <${List} label="Contracts" what="contract" filters=${filters} asks=${asks}
      columns=${[name, vehicle, fleet, pack, from, to, status]} nameOf=${(one) => `${one.name}, ${one.vehicle.vin}`}
      verbs=${[{ name: t('Delete …'), run: removeContracts, danger: true }]} empty=${nothing} />
  <//>`;
}

const nothing = (query) =>
  query.status || query.fleet
    ? html`<${Empty} title="No contract fits"><p>None is like that. <a href="#/contracts">Show all contracts</a></p><//>`
    : html`<${Empty} title="No contracts yet">
        <p>Create one here by a VIN, on a vehicle’s page, or for all vehicles that you select in a fleet.</p>
      <//>`;

const contractQuery = `query Contract($id: ID!) {
  contract(id: $id) {
    id name description pack status from to createdAt
    vehicle { id vin } fleet { id name }
  }
}`;
const back = { href: '#/contracts', name: t('Contracts') };

/** One contract and its history. */
export function Contract({ id }) {
  const asked = useQuery(contractQuery, { id }, ({ type }) => type.startsWith('CONTRACT_'));
  const contract = asked.data?.contract;
  const remove = () => removeContracts([contract], () => go('#/contracts'));
  return html`<${Page} label="Contract" asked=${asked} title=${contract?.name} back=${back} about=${contract?.description}
    actions=${contract && html`<button type="button" onClick=${remove}>Delete …</button>`}>
    ${contract ? html`<${Facts} contract=${contract} />` : html`<${Waiting} rows=${1} kind="card" />`}
    <h2>Activity</h2>
    <${EventList} filter=${{ contractId: id }} />
  <//>`;
}

const Facts = ({
  contract: { pack, status, from, to, createdAt, vehicle, fleet },
}) => html`<section class="verdict" aria-label="Contract">
  <p class="said"><${ContractBadge} status=${status} /> <span><${Period} from=${from} to=${to} /></span></p>
  <dl class="facts">
    <${Fact} label="Pack">${pack}<//>
    <${Fact} label="Vehicle"><a class="vin" href=${hrefOf(['vehicles', vehicle.id])}>${vehicle.vin}</a><//>
    <${Fact} label="Fleet"><a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a><//>
    <${Fact} label="Created"><${Day} at=${createdAt} /><//>
  </dl>
</section>`;

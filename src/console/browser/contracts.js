import { EventList } from './activity.js';
import { pageData } from './api.js';
import { AtManufacturer, ContractBadge, contractColumns, Period } from './columns.js';
import { endNow, removeContracts } from './contract-ends.js';
import { askAgain, editContract, mayAsk, newContract } from './contract-verbs.js';
import { useFleetOptions } from './fleet-verbs.js';
import { counted, html, t } from './html.js';
import { codes } from './languages/language.js';
import { List } from './list.js';
import { Day, Empty, Fact, Page, Time, Waiting, Why } from './parts.js';
import { useActivations, useQuery } from './query.js';
import { filledIn, go, hrefOf, route } from './router.js';
import { activationStates, byCreation, contractStates, FEWEST, known, vinPart } from './words.js';

const contractsQuery = `query Contracts($filter: ContractFilter, $orderBy: ContractOrder, $first: Int, $after: String, $last: Int, $before: String) {
  contracts(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    ${pageData} nodes { id name pack status from to vehicle { id vin } fleet { id name } activation { state reason { code message actor } } }
  }
}`;

const byPeriod = {
  FROM: t('Start date, earliest first'),
  '-FROM': t('Start date, latest first'),
  TO: t('End date, earliest first'),
  '-TO': t('End date, latest first'),
};
const orders = Object.entries({ ...byCreation, ...byPeriod });
const { name, vehicle, fleet, pack, from, to, status, told } = contractColumns;

/** The filter that an address's query describes, for one fleet or for all. */
const filterOf =
  (fleetId) =>
  ({ status, activation, reason, fleet, name, vin }) =>
    filledIn({
      ...{ statuses: known(contractStates, status), activation: known(activationStates, activation) },
      ...{ activationReason: known(codes, reason), fleetIds: fleetId ?? fleet, name, vin: vinPart(vin) },
    });

/** Contracts of one state stand together by its reason, so that all of one can be checked again. */
function reasonOf({ activation: { reason } }, group) {
  const { query } = route.value;
  const code = reason?.code ?? '';
  const more = query.reason ? { name: t('All reasons') } : code && { name: t('Only this reason'), reason: code };
  return {
    key: code,
    head:
      group &&
      html`<div class="row apart">
        <span>${reason ? html`<${Why} reason=${reason} />` : activationStates[query.activation]}</span>
        <span class="dim">
          ${counted(group.length, 'contract')} on this page${more && html` · <a href=${hrefOf(route.value.parts, { ...query, reason: more.reason })}>${more.name}</a>`}
        </span>
      </div>`,
  };
}

const wakes = ({ type }) => /^(CONTRACT|VEHICLE|FLEET)/.test(type);

/** The contracts of one fleet or of all. */
export function ContractList({ fleetId }) {
  useActivations();
  const { activation, reason } = route.value.query;
  const fleets = useFleetOptions();
  const states = Object.entries(activationStates);
  const filters = [
    { name: 'name', label: t('Name'), maxlength: 255 },
    { name: 'vin', label: t('VIN, or its start or end'), minlength: FEWEST, maxlength: 24 },
    { name: 'status', label: t('Status'), options: [['', t('Any status')], ...Object.entries(contractStates)] },
    { name: 'activation', label: t('Activation'), options: [['', t('Any activation')], ...states] },
    ...(fleetId ? [] : [{ name: 'fleet', label: t('Fleet'), options: [['', t('Any fleet')], ...fleets] }]),
    { name: 'order', label: t('Sort by'), options: orders },
  ];
  return html`<${List} label="Contracts" what="contract" filters=${filters} asks=${{ document: contractsQuery, filterOf: filterOf(fleetId), wakes }}
    columns=${[name, vehicle, ...(fleetId ? [] : [fleet]), pack, from, to, status, told]} nameOf=${(one) => `${one.name}, ${one.vehicle.vin}`}
    groupOf=${known(activationStates, activation) || known(codes, reason) ? reasonOf : undefined} verbs=${verbs} empty=${nothing} />`;
}

const make = html`<button type="button" class="primary" onClick=${() => newContract()}>New contract</button>`;
export const Contracts = () =>
  html`<${Page} title="Contracts" about="Data service contracts for your vehicles." actions=${make}><${ContractList} /><//>`;

const verbs = [
  { name: t('Check again'), run: askAgain },
  { name: t('End …'), run: endNow },
  { name: t('Delete …'), run: removeContracts, danger: true },
];

const nothing = ({ status, activation, reason, fleet, name: typed, vin }) =>
  status || activation || reason || fleet || typed || vin
    ? html`<${Empty} title="No matching contracts"><p>Nothing matches these filters. <a href=${hrefOf(route.value.parts)}>Show all contracts</a></p><//>`
    : html`<${Empty} title="No contracts yet">
        <p>Create one here by VIN, on a vehicle’s page, or for the vehicles you select in a fleet.</p>
      <//>`;

const contractQuery = `query Contract($id: ID!) {
  contract(id: $id) {
    id name description pack status from to createdAt
    vehicle { id vin } fleet { id name } manufacturer { name }
    activation { state changedAt nextAttemptAt reason { code message actor } }
  }
}`;
const back = { href: '#/contracts', name: t('Contracts') };

export function Contract({ id }) {
  useActivations();
  const asked = useQuery(contractQuery, { id }, ({ type }) => type.startsWith('CONTRACT_'));
  const contract = asked.data?.contract;
  const events = html`<h2>Activity</h2><${EventList} filter=${{ contractId: id }} />`;
  return html`<${Page} label="Contract" gone=${events} asked=${asked} title=${contract?.name} back=${back} about=${contract?.description}
    actions=${contract && html`<${Verbs} contract=${contract} />`}>
    ${contract ? html`<${Facts} contract=${contract} />` : html`<${Waiting} rows=${1} kind="card" />`}
    ${events}
  <//>`;
}

const Verbs = ({ contract }) => html`
  <button type="button" onClick=${() => editContract(contract)}>Edit</button>
  ${mayAsk(contract) && html`<button type="button" onClick=${() => askAgain([contract])}>Check again</button>`}
  ${contract.status === 'ACTIVE' && html`<button type="button" onClick=${() => endNow([contract])}>End …</button>`}
  <button type="button" onClick=${() => removeContracts([contract], () => go('#/contracts'))}>Delete …</button>`;

const Facts = ({
  contract: { pack, status, from, to, createdAt, vehicle, fleet, manufacturer, activation },
}) => html`<section class="verdict" aria-label="Contract">
  <p class="said"><${ContractBadge} status=${status} /> <span><${Period} from=${from} to=${to} /></span></p>
  <p class="said"><span class="dim">Activation</span> <${AtManufacturer} activation=${activation} /></p>
  <dl class="facts">
    <${Fact} label="Pack">${pack}<//>
    <${Fact} label="Vehicle"><a class="vin" href=${hrefOf(['vehicles', vehicle.id])}>${vehicle.vin}</a><//>
    <${Fact} label="Fleet"><a href=${hrefOf(['fleets', fleet.id])}>${fleet.name}</a><//>
    <${Fact} label="Manufacturer">${manufacturer?.name ?? t('Unknown')}<//>
    <${Fact} label="Last change"><${Time} at=${activation.changedAt} /><//>
    ${activation.nextAttemptAt && html`<${Fact} label="Next check"><${Time} at=${activation.nextAttemptAt} /><//>`}
    <${Fact} label="Created"><${Day} at=${createdAt} /><//>
  </dl>
</section>`;

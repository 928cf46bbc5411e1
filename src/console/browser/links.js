import { html, t } from './html.js';
import { useQuery } from './query.js';
import { hrefOf } from './router.js';

const contractsQuery = 'query InTheWay($ids: [ID!]!) { nodes(ids: $ids) { ... on Contract { id name } } }';
const fleetQuery = 'query FleetOf($vin: String!) { vehicle(by: { vin: $vin }) { id fleet { id name } } }';
const nameQuery = `query FleetName($id: ID!) {
  node(id: $id) { ... on Fleet { name } }
  events(last: 1, filter: { fleetId: $id, types: [FLEET_DELETED] }) { nodes { data { ... on FleetDeletedData { name } } } }
}`;
const never = () => false;

/** A fleet by its name, which its deletion has kept. */
export function FleetLink({ id }) {
  const { node, events } = useQuery(nameQuery, { id }, never).data ?? {};
  const name = node?.name ?? events?.nodes[0]?.data.name;
  return html`<a href=${hrefOf(['fleets', id])}>${name ? t('“{name}”', { name }) : t('another fleet')}</a>`;
}

/** The contracts of these ids by name, each with a link. */
export function ContractLinks({ ids }) {
  const { data } = useQuery(contractsQuery, { ids: ids.slice(0, 10) }, never);
  return data?.nodes
    .filter(Boolean)
    .map(({ id, name }) => html`<a key=${id} href=${hrefOf(['contracts', id])}>${name}</a> `);
}

/** The fleet that has a VIN, and its vehicle. */
export function Elsewhere({ vin }) {
  const { vehicle } = useQuery(fleetQuery, { vin }, never).data ?? {};
  return html`<a href=${vehicle ? hrefOf(['vehicles', vehicle.id]) : hrefOf(['vehicles'], { vin })}>${t('Show the vehicle')}</a>
    ${vehicle && html` · <a href=${hrefOf(['fleets', vehicle.fleet.id])}>${vehicle.fleet.name}</a>`}`;
}

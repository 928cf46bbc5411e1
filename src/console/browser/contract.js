import { ContractBadge, Period } from './columns.js';
import { removeContracts } from './contract-verbs.js';
import { EventList } from './events.js';
import { html, t } from './html.js';
import { Page } from './page.js';
import { Fact, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { go, hrefOf } from './router.js';
import { Day } from './time.js';

const contractQuery = `query Contract($id: ID!) {
  contract(id: $id) {
    id name description pack status from to createdAt
    vehicle { id vin } fleet { id name }
  }
}`;
const back = { href: '#/contracts', name: t('Contracts') };

/** One contract, and what happened to it. */
export function Contract({ id }) {
  const { data, error, reload } = useQuery(contractQuery, { id }, ({ type }) => type.startsWith('CONTRACT_'));
  const contract = data?.contract;
  if (error && !contract) return html`<${Page} title="Contract" back=${back} error=${error} retry=${reload} />`;
  const remove = () => removeContracts([contract], () => go('#/contracts'));
  return html`<${Page} title=${contract?.name} back=${back} about=${contract?.description ?? html`<span class="blank word" />`}
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

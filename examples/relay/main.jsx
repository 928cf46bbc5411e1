import { createClient } from 'graphql-ws';
import { Suspense, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  graphql,
  RelayEnvironmentProvider,
  useLazyLoadQuery,
  useMutation,
  usePaginationFragment,
  useSubscription,
} from 'react-relay';
import { Environment, Network, Observable, RecordSource, Store } from 'relay-runtime';
import { authorization, messageOf } from '../messages.js';

// All subscriptions share one WebSocket.
const events = createClient({ url: '/graphql', connectionParams: () => ({ authorization }) });

async function send({ text: query }, variables, _cache, uploadables) {
  const operation = JSON.stringify({ query, variables });
  const headers = { authorization, ...(!uploadables && { 'content-type': 'application/json' }) };
  const body = uploadables ? formOf(operation, uploadables) : operation;
  const result = await (await fetch('/graphql', { method: 'POST', headers, body })).json();
  if (result.errors) throw Object.assign(new Error(messageOf(result.errors)), result);
  return result;
}

/** As the GraphQL multipart request specification has it; files are named by where they stand in the operation. */
function formOf(operation, uploadables) {
  const form = new FormData();
  form.append('operations', operation);
  form.append('map', JSON.stringify(Object.fromEntries(Object.keys(uploadables).map((path) => [path, [path]]))));
  for (const [path, file] of Object.entries(uploadables)) form.append(path, file);
  return form;
}

const environment = new Environment({
  network: Network.create(send, ({ text: query }, variables) =>
    Observable.create((sink) => events.subscribe({ query, variables }, sink)),
  ),
  store: new Store(new RecordSource()),
});

function Vehicles({ fleet }) {
  const { data, hasNext, loadNext } = usePaginationFragment(
    graphql`fragment main_vehicles on Fleet
      @argumentDefinitions(count: { type: "Int", defaultValue: 10 }, cursor: { type: "String" })
      @refetchable(queryName: "mainVehiclesQuery") {
      vehicles(first: $count, after: $cursor) @connection(key: "main_vehicles") {
        edges { node { id vin eligibility { status } } }
      }
    }`,
    fleet,
  );
  // The store shows each new status: it goes by the vehicle's id.
  const subscription = graphql`subscription mainChangesSubscription($id: ID) {
    eligibilityChanged(fleetId: $id) { vehicle { id eligibility { status } } }
  }`;
  useSubscription(useMemo(() => ({ subscription, variables: { id: fleet.id } }), [subscription, fleet.id]));
  return (
    <>
      <ul>
        {data.vehicles.edges.map(({ node }) => (
          <li key={node.id}>{node.vin}: {node.eligibility.status}</li>
        ))}
      </ul>
      {hasNext && <button type="button" onClick={() => loadNext(10)}>More</button>}
    </>
  );
}

function Progress({ importId }) {
  const [progress, setProgress] = useState(null);
  const subscription = graphql`subscription mainProgressSubscription($importId: ID!) {
    importProgress(importId: $importId) { id state received }
  }`;
  const onNext = ({ importProgress }) => setProgress(importProgress);
  // biome-ignore lint/correctness/useExhaustiveDependencies: one subscription for each import.
  useSubscription(useMemo(() => ({ subscription, variables: { importId }, onNext }), [importId]));
  return progress && <p role="status">{progress.state}: {progress.received} rows</p>;
}

function Upload({ fleetId, onDone }) {
  // The id is chosen here, so that the progress can be followed from the first byte.
  const [importId, setImportId] = useState(null);
  const [result, setResult] = useState({});
  const [upload] = useMutation(graphql`mutation mainUploadMutation($input: ImportVehiclesInput!) {
    importVehicles(input: $input) { summary { created existing rejected } }
  }`);
  const sendFile = ({ target }) => {
    const id = crypto.randomUUID();
    setImportId(id);
    setResult({});
    upload({
      variables: { input: { fleetId, importId: id, file: null } },
      uploadables: { 'variables.input.file': target.files[0] },
      onCompleted: ({ importVehicles }) => onDone(setResult(importVehicles)),
      onError: (error) => setResult({ error }),
    });
  };
  const { summary, error } = result;
  return (
    <>
      <label>Upload vehicles <input type="file" onChange={sendFile} /></label>
      {importId && <Progress key={importId} importId={importId} />}
      {summary && <p>{summary.created} added, {summary.rejected} rejected</p>}
      {error && <p role="alert">{error.errors ? error.message : 'The gateway is out of reach.'}</p>}
    </>
  );
}

function App() {
  const [fetchKey, setFetchKey] = useState(0);
  const { fleets } = useLazyLoadQuery(
    graphql`query mainFleetsQuery { fleets(first: 1) { nodes { id name ...main_vehicles } } }`,
    {},
    { fetchKey, fetchPolicy: 'store-and-network' },
  );
  const [fleet] = fleets.nodes;
  if (!fleet) return <p>There is no fleet yet.</p>;
  return (
    <>
      <h1>{fleet.name}</h1>
      <Upload fleetId={fleet.id} onDone={() => setFetchKey(fetchKey + 1)} />
      <Vehicles fleet={fleet} />
    </>
  );
}

createRoot(document.getElementById('main')).render(
  <RelayEnvironmentProvider environment={environment}>
    <Suspense fallback={<p>Loading…</p>}><App /></Suspense>
  </RelayEnvironmentProvider>,
);

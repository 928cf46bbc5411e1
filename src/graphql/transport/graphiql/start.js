// The page has only data: a script in it would need a weaker policy.
const { options, workers } = JSON.parse(document.getElementById('root').dataset.start);
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => workers[label] };
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), options);

// A plain script, which runs before anything is painted: modules run too late.
document.documentElement.dataset.theme = localStorage.getItem('fleet-gateway-theme') ?? 'system';
